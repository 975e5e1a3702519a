"""Two dense networks that play against each other. Timed: generator_loss, discriminator_loss, train_step."""

import tensorflow as tf
from tensorflow.keras import layers

NOISE = 32


def make_generator():
    return tf.keras.Sequential(
        [
            layers.Input(shape=(NOISE,)),
            layers.Dense(128, activation="relu"),
            layers.BatchNormalization(),
            layers.Dense(784, activation="tanh"),
        ]
    )


def make_discriminator():
    return tf.keras.Sequential(
        [layers.Input(shape=(784,)), layers.Dense(128), layers.LeakyReLU(), layers.Dropout(0.3), layers.Dense(1)]
    )


generator, discriminator = make_generator(), make_discriminator()
generator_optimizer = tf.keras.optimizers.Adam(2e-4)
discriminator_optimizer = tf.keras.optimizers.Adam(2e-4)
cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)


def discriminator_loss(real, fake):
    return cross_entropy(tf.ones_like(real), real) + cross_entropy(tf.zeros_like(fake), fake)


def generator_loss(fake):
    return cross_entropy(tf.ones_like(fake), fake)


def train_step(images):
    noise = tf.random.normal([tf.shape(images)[0], NOISE])
    with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
        generated = generator(noise, training=True)
        real, fake = discriminator(images, training=True), discriminator(generated, training=True)
        g_loss, d_loss = generator_loss(fake), discriminator_loss(real, fake)
    g_grads = g_tape.gradient(g_loss, generator.trainable_variables)
    d_grads = d_tape.gradient(d_loss, discriminator.trainable_variables)
    generator_optimizer.apply_gradients(zip(g_grads, generator.trainable_variables))
    discriminator_optimizer.apply_gradients(zip(d_grads, discriminator.trainable_variables))
    return g_loss, d_loss


if __name__ == "__main__":
    for _ in range(300):
        train_step(tf.random.uniform([64, 784]))
