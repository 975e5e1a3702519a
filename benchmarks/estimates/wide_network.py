"""Wide layers of own weights on large batches. Timed: forward, train_step."""

import tensorflow as tf


def dense(inputs, outputs):
    return tf.Variable(tf.random.normal([inputs, outputs], stddev=0.03)), tf.Variable(tf.zeros([outputs]))


layers = [dense(1024, 2048), dense(2048, 2048), dense(2048, 100)]


def forward(x):
    for kernel, bias in layers[:-1]:
        x = tf.nn.relu(tf.matmul(x, kernel) + bias)
    kernel, bias = layers[-1]
    return tf.matmul(x, kernel) + bias


def train_step(x, y, rate):
    variables = [v for pair in layers for v in pair]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, forward(x)))
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
        variable.assign_sub(rate * gradient)
    return loss


if __name__ == "__main__":
    x = tf.random.normal([256, 1024])
    y = tf.random.uniform([256], maxval=100, dtype=tf.int32)
    for _ in range(1000):
        train_step(x, y, tf.constant(0.01))
