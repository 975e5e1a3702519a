"""Images made by transposed convolutions. Timed: Generator.call, Discriminator.call, Trainer.train_discriminator."""

import tensorflow as tf


class Generator(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.project = tf.keras.layers.Dense(7 * 7 * 64)
        self.norm = tf.keras.layers.BatchNormalization()
        self.up1 = tf.keras.layers.Conv2DTranspose(64, 5, strides=2, padding="same")
        self.up2 = tf.keras.layers.Conv2DTranspose(1, 5, strides=2, padding="same")

    def call(self, z, training=False):
        x = tf.nn.relu(self.norm(self.project(z), training=training))
        x = tf.nn.leaky_relu(self.up1(tf.reshape(x, [-1, 7, 7, 64])))
        return tf.tanh(self.up2(x))


class Discriminator(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.conv1 = tf.keras.layers.Conv2D(64, 5, strides=2, padding="same")
        self.conv2 = tf.keras.layers.Conv2D(128, 5, strides=2, padding="same")
        self.out = tf.keras.layers.Dense(1)

    def call(self, x):
        x = tf.nn.leaky_relu(self.conv1(x))
        x = tf.nn.leaky_relu(self.conv2(x))
        return self.out(tf.reshape(x, [tf.shape(x)[0], 7 * 7 * 128]))


class Trainer:
    def __init__(self):
        self.generator, self.discriminator = Generator(), Discriminator()
        self.optimizer = tf.keras.optimizers.Adam(1e-4)

    def train_discriminator(self, real):
        fake = self.generator(tf.random.normal([real.shape[0], 64]), training=True)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.discriminator(fake)) - tf.reduce_mean(self.discriminator(real))
        weights = self.discriminator.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss


if __name__ == "__main__":
    trainer = Trainer()
    for _ in range(50):
        trainer.train_discriminator(tf.random.uniform([16, 28, 28, 1]))
