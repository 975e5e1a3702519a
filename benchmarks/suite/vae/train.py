"""A variational autoencoder with convolutions: `train_step` on the model, own loop around it."""

import argparse
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

IMAGE_SIZE = 16
LATENT_DIM = 4
BATCH_SIZE = 32


def log_normal_pdf(sample, mean, logvar):
    log2pi = tf.math.log(2.0 * np.pi)
    return tf.reduce_sum(-0.5 * ((sample - mean) ** 2.0 * tf.exp(-logvar) + logvar + log2pi), axis=1)


class CVAE(keras.Model):
    """Convolutional variational autoencoder."""

    def __init__(self, latent_dim, seed):
        super().__init__()
        self.latent_dim = latent_dim
        self.rng = tf.random.Generator.from_seed(seed)
        self.encoder = keras.Sequential(
            [
                layers.Input((IMAGE_SIZE, IMAGE_SIZE, 1)),
                layers.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
                layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
                layers.Flatten(),
                layers.Dense(2 * latent_dim),
            ]
        )
        self.decoder = keras.Sequential(
            [
                layers.Input((latent_dim,)),
                layers.Dense(4 * 4 * 16, activation="relu"),
                layers.Reshape((4, 4, 16)),
                layers.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu"),
                layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu"),
                layers.Conv2D(1, 3, padding="same"),
            ]
        )

    def encode(self, x):
        mean, logvar = tf.split(self.encoder(x), num_or_size_splits=2, axis=1)
        return mean, logvar

    def reparameterize(self, mean, logvar):
        eps = self.rng.normal(shape=tf.shape(mean))
        return eps * tf.exp(logvar * 0.5) + mean

    def decode(self, z, apply_sigmoid=False):
        logits = self.decoder(z)
        if apply_sigmoid:
            return tf.sigmoid(logits)
        return logits

    def sample(self, eps):
        return self.decode(eps, apply_sigmoid=True)


def compute_loss(model, x):
    """The negative lower bound, by a single sample."""
    mean, logvar = model.encode(x)
    z = model.reparameterize(mean, logvar)
    x_logit = model.decode(z)
    cross_ent = tf.nn.sigmoid_cross_entropy_with_logits(logits=x_logit, labels=x)
    logpx_z = -tf.reduce_sum(cross_ent, axis=[1, 2, 3])
    logpz = log_normal_pdf(z, 0.0, 0.0)
    logqz_x = log_normal_pdf(z, mean, logvar)
    return -tf.reduce_mean(logpx_z + logpz - logqz_x)


def train_step(model, x, optimizer):
    """One training step: gradients of the loss, and the update."""
    with tf.GradientTape() as tape:
        loss = compute_loss(model, x)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


def make_bars(count, seed):
    """Binary images of bars at random angles."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:IMAGE_SIZE, 0:IMAGE_SIZE] - IMAGE_SIZE / 2
    angles = rng.uniform(0, np.pi, (count, 1, 1))
    offsets = rng.uniform(-4, 4, (count, 1, 1))
    distance = np.abs(np.cos(angles) * xx + np.sin(angles) * yy - offsets)
    return (distance < 1.5).astype("float32")[..., None]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--steps-per-epoch", type=int, default=200)
    args = parser.parse_args()
    keras.utils.set_random_seed(14)

    train_dataset = tf.data.Dataset.from_tensor_slices(make_bars(4000, seed=1)).shuffle(4000, seed=3).repeat()
    test_dataset = tf.data.Dataset.from_tensor_slices(make_bars(500, seed=2)).batch(100)
    model = CVAE(LATENT_DIM, seed=15)
    optimizer = keras.optimizers.Adam(1e-3)
    batches = iter(train_dataset.batch(BATCH_SIZE))
    start = time.perf_counter()
    for epoch in range(1, args.steps // args.steps_per_epoch + 1):
        for _ in range(args.steps_per_epoch):
            train_step(model, next(batches), optimizer)
        loss = keras.metrics.Mean()
        for test_x in test_dataset:
            loss(compute_loss(model, test_x))
        print(f"epoch {epoch}: test ELBO {-loss.result():.4f}, elapsed {time.perf_counter() - start:.1f} s")
    if args.steps < args.steps_per_epoch:
        for _ in range(args.steps):
            loss = train_step(model, next(batches), optimizer)
        print(f"loss {loss:.4f}")


if __name__ == "__main__":
    main()
