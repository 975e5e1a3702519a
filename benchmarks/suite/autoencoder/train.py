"""A dense autoencoder on synthetic digits, trained with a custom loop."""

import argparse
import time

import numpy as np
import tensorflow as tf
from tensorflow.keras import Model, layers

NUM_FEATURES = 784
BATCH_SIZE = 64
STEPS_PER_REPORT = 200


class Encoder(layers.Layer):
    """784 -> 128 -> 64."""

    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(128, activation="sigmoid")
        self.code = layers.Dense(64, activation="sigmoid")

    def build(self, input_shape):
        self.hidden.build(input_shape)
        self.code.build((input_shape[0], 128))
        self.built = True

    def call(self, x):
        return self.code(self.hidden(x))


class Decoder(layers.Layer):
    """64 -> 128 -> 784."""

    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(128, activation="sigmoid")
        self.pixels = layers.Dense(NUM_FEATURES, activation="sigmoid")

    def build(self, input_shape):
        self.hidden.build(input_shape)
        self.pixels.build((input_shape[0], 128))
        self.built = True

    def call(self, code):
        return self.pixels(self.hidden(code))


class AutoEncoder(Model):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()

    def build(self, input_shape):
        self.encoder.build(input_shape)
        self.decoder.build((input_shape[0], 64))
        self.built = True

    def call(self, x):
        return self.decoder(self.encoder(x))


def mean_square(reconstruction, original):
    return tf.reduce_mean(tf.square(original - reconstruction))


def train_step(model, optimizer, x):
    """One step on a batch of noisy images; the loss."""
    with tf.GradientTape() as tape:
        loss = mean_square(model(x, training=True), x)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


def test_step(model, x):
    return mean_square(model(x, training=False), x)


def make_images(count, seed):
    """Images that are mixtures of sixteen smooth patterns."""
    grid = np.linspace(-1, 1, 28)
    xx, yy = np.meshgrid(grid, grid)
    pattern_rng = np.random.default_rng(5)
    centres = pattern_rng.uniform(-0.8, 0.8, (16, 2))
    patterns = np.exp(-((xx - centres[:, :1, None]) ** 2 + (yy - centres[:, 1:, None]) ** 2) / 0.1)
    rng = np.random.default_rng(seed)
    weights = rng.random((count, 16)) * (rng.random((count, 16)) < 0.3)
    images = np.clip(weights @ patterns.reshape(16, -1), 0, 1)
    return images.astype("float32")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args()
    tf.keras.utils.set_random_seed(11)

    train = tf.data.Dataset.from_tensor_slices(make_images(8000, seed=1)).repeat().shuffle(8000, seed=2)
    test = tf.data.Dataset.from_tensor_slices(make_images(1000, seed=3)).batch(BATCH_SIZE, drop_remainder=True)

    model = AutoEncoder()
    model.build((None, NUM_FEATURES))
    optimizer = tf.keras.optimizers.Adam(learning_rate=1e-3)

    start = time.perf_counter()
    for step, batch in enumerate(train.batch(BATCH_SIZE).take(args.steps), start=1):
        loss = train_step(model, optimizer, batch)
        if step % STEPS_PER_REPORT == 0:
            print(f"step {step}: loss {float(loss):.6f}")
    print(f"training took {time.perf_counter() - start:.2f} s")

    losses = [float(test_step(model, batch)) for batch in test]
    print(f"test loss {np.mean(losses):.6f}")


if __name__ == "__main__":
    main()
