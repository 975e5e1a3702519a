"""A variational auto-encoder. Timed: reparameterize, log_normal, compute_loss, train_step."""

import math

import tensorflow as tf


class Coder(tf.keras.Model):
    def __init__(self, latent):
        super().__init__()
        self.encoder = tf.keras.Sequential(
            [tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(2 * latent)]
        )
        self.decoder = tf.keras.Sequential([tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(784)])

    def encode(self, x):
        mean, logvar = tf.split(self.encoder(x), num_or_size_splits=2, axis=1)
        return mean, logvar

    def decode(self, z):
        return self.decoder(z)


def reparameterize(mean, logvar):
    eps = tf.random.normal(shape=tf.shape(mean))
    return eps * tf.exp(logvar * 0.5) + mean


def log_normal(sample, mean, logvar):
    log2pi = math.log(2.0 * math.pi)
    return tf.reduce_sum(-0.5 * ((sample - mean) ** 2.0 * tf.exp(-logvar) + logvar + log2pi), axis=1)


def compute_loss(model, x):
    mean, logvar = model.encode(x)
    z = reparameterize(mean, logvar)
    logits = model.decode(z)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=x)
    log_px_z = -tf.reduce_sum(entropy, axis=1)
    log_pz = log_normal(z, tf.zeros_like(z), tf.zeros_like(z))
    return -tf.reduce_mean(log_px_z + log_pz - log_normal(z, mean, logvar))


def train_step(model, x, optimizer):
    with tf.GradientTape() as tape:
        loss = compute_loss(model, x)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


if __name__ == "__main__":
    coder = Coder(8)
    adam = tf.keras.optimizers.Adam(1e-3)
    for _ in range(200):
        train_step(coder, tf.round(tf.random.uniform([100, 784])), adam)
