"""A small classifier of digits. Timed: train_step, evaluate_step, accuracy."""

import tensorflow as tf

model = tf.keras.Sequential(
    [tf.keras.layers.Dense(128, activation="relu"), tf.keras.layers.Dropout(0.2), tf.keras.layers.Dense(10)]
)
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def accuracy(logits, labels):
    predicted = tf.argmax(logits, axis=1, output_type=tf.int32)
    return tf.reduce_mean(tf.cast(tf.equal(predicted, labels), tf.float32))


def train_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = loss_object(labels, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def evaluate_step(images, labels):
    logits = model(images, training=False)
    return loss_object(labels, logits), accuracy(logits, labels)


if __name__ == "__main__":
    images = tf.random.normal([2000, 784])
    labels = tf.random.uniform([2000], maxval=10, dtype=tf.int32)
    for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).repeat().batch(32):
        train_step(x, y)
        evaluate_step(x, y)
