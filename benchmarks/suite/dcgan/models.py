"""Generator and discriminator."""

import tensorflow as tf
from tensorflow.keras import layers

IMAGE_SIZE = 16
NOISE_DIM = 32


def make_generator():
    """Noise -> 16x16 images with values in [-1, 1]."""
    return tf.keras.Sequential(
        [
            layers.Input((NOISE_DIM,)),
            layers.Dense(4 * 4 * 32, use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Reshape((4, 4, 32)),
            layers.Conv2DTranspose(16, 5, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Conv2DTranspose(1, 5, strides=2, padding="same", activation="tanh"),
        ],
        name="generator",
    )


def make_discriminator():
    """Images -> one logit each: real or fake."""
    return tf.keras.Sequential(
        [
            layers.Input((IMAGE_SIZE, IMAGE_SIZE, 1)),
            layers.Conv2D(16, 5, strides=2, padding="same"),
            layers.LeakyReLU(),
            layers.Dropout(0.3, seed=1),
            layers.Conv2D(32, 5, strides=2, padding="same"),
            layers.LeakyReLU(),
            layers.Dropout(0.3, seed=2),
            layers.Flatten(),
            layers.Dense(1),
        ],
        name="discriminator",
    )
