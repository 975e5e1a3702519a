"""Vectors of words with sampled losses. Timed: lookup, nce, evaluate, run_optimization."""

import tensorflow as tf

WORDS, SIZE = 2000, 64
embedding = tf.Variable(tf.random.normal([WORDS, SIZE]))
weights = tf.Variable(tf.random.normal([WORDS, SIZE]))
biases = tf.Variable(tf.zeros([WORDS]))
optimizer = tf.keras.optimizers.SGD(0.1)


def lookup(x):
    return tf.nn.embedding_lookup(embedding, x)


def nce(embedded, y):
    y = tf.cast(y, tf.int64)
    return tf.reduce_mean(
        tf.nn.nce_loss(weights=weights, biases=biases, labels=y, inputs=embedded, num_sampled=32, num_classes=WORDS)
    )


def evaluate(embedded):
    embedded = tf.cast(embedded, tf.float32)
    norm = embedded / tf.sqrt(tf.reduce_sum(tf.square(embedded)))
    table = embedding / tf.sqrt(tf.reduce_sum(tf.square(embedding), 1, keepdims=True))
    return tf.matmul(norm, table, transpose_b=True)


def run_optimization(x, y):
    with tf.GradientTape() as tape:
        loss = nce(lookup(x), y)
    variables = [embedding, weights, biases]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))


if __name__ == "__main__":
    for _ in range(300):
        x = tf.random.uniform([128], maxval=WORDS, dtype=tf.int32)
        y = tf.random.uniform([128, 1], maxval=WORDS, dtype=tf.int32)
        run_optimization(x, y)
        evaluate(lookup(x[:8]))
