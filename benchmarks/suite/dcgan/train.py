"""A DCGAN on synthetic blobs: two models, two tapes, two optimizers in one step."""

import argparse
import time

import numpy as np
import tensorflow as tf
from models import IMAGE_SIZE, NOISE_DIM, make_discriminator, make_generator

BATCH_SIZE = 16


class GAN:
    def __init__(self, seed):
        self.generator = make_generator()
        self.discriminator = make_discriminator()
        self.generator_optimizer = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.discriminator_optimizer = tf.keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
        self.rng = tf.random.Generator.from_seed(seed)

    def discriminator_loss(self, real_output, fake_output):
        real_loss = self.cross_entropy(tf.ones_like(real_output), real_output)
        fake_loss = self.cross_entropy(tf.zeros_like(fake_output), fake_output)
        return real_loss + fake_loss

    def generator_loss(self, fake_output):
        return self.cross_entropy(tf.ones_like(fake_output), fake_output)

    def train_step(self, images):
        noise = self.rng.normal([BATCH_SIZE, NOISE_DIM])
        with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
            generated_images = self.generator(noise, training=True)
            real_output = self.discriminator(images, training=True)
            fake_output = self.discriminator(generated_images, training=True)
            gen_loss = self.generator_loss(fake_output)
            disc_loss = self.discriminator_loss(real_output, fake_output)
        gen_gradients = gen_tape.gradient(gen_loss, self.generator.trainable_variables)
        disc_gradients = disc_tape.gradient(disc_loss, self.discriminator.trainable_variables)
        self.generator_optimizer.apply_gradients(zip(gen_gradients, self.generator.trainable_variables, strict=True))
        self.discriminator_optimizer.apply_gradients(
            zip(disc_gradients, self.discriminator.trainable_variables, strict=True)
        )
        return gen_loss, disc_loss


def make_blobs(count, seed):
    """One to three bright blobs on a dark background."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:IMAGE_SIZE, 0:IMAGE_SIZE]
    images = np.zeros((count, IMAGE_SIZE, IMAGE_SIZE))
    for image in images:
        for _ in range(rng.integers(1, 4)):
            y, x = rng.uniform(3, IMAGE_SIZE - 3, 2)
            image += np.exp(-((yy - y) ** 2 + (xx - x) ** 2) / rng.uniform(3, 8))
    return (np.clip(images, 0, 1) * 2 - 1).astype("float32")[..., None]


def train(gan, dataset, steps, report_every=80):
    """Alternates nothing: both networks take a step on each batch."""
    history = []
    for step, image_batch in enumerate(dataset.take(steps), 1):
        gen_loss, disc_loss = gan.train_step(image_batch)
        history.append((gen_loss, disc_loss))
        if step % report_every == 0:
            means = np.mean([[float(g), float(d)] for g, d in history], axis=0)
            print(f"step {step}: generator loss {means[0]:.4f}, discriminator loss {means[1]:.4f}")
            history.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=270)
    args = parser.parse_args()
    tf.keras.utils.set_random_seed(4)

    images = make_blobs(2000, seed=1)
    dataset = tf.data.Dataset.from_tensor_slices(images).repeat().shuffle(2000, seed=2).batch(BATCH_SIZE)
    gan = GAN(seed=9)
    start = time.perf_counter()
    train(gan, dataset, args.steps)
    print(f"time for training: {time.perf_counter() - start:.2f} sec")

    samples = gan.generator(tf.random.Generator.from_seed(1).normal([64, NOISE_DIM]), training=False)
    print(f"mean brightness of samples {float(tf.reduce_mean(samples)):.4f}, of images {images.mean():.4f}")


if __name__ == "__main__":
    main()
