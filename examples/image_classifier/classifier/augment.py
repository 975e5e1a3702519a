"""Changes to a batch of images before a step."""

import random

import tensorflow as tf


def soften(images):
    blurred = tf.nn.avg_pool2d(images, 3, 1, "SAME")
    return 0.8 * images + 0.2 * blurred


def jitter(images):
    """Brightness drawn by Python: a graph would keep the first number for ever."""
    return images + random.uniform(-0.1, 0.1)


@tf.function
def fade_in(images, epoch):
    """Misused: `epoch` is a Python number, so each epoch traces again."""
    return images * (1.0 - 0.5 ** (epoch + 1))


class Centering:
    """Remembers the mean of the first batch; the Python counter guards the update."""

    def __init__(self):
        self.mean = tf.Variable(0.0, trainable=False)
        self.seen = 0

    def __call__(self, images):
        if self.seen == 0:
            self.mean.assign(tf.reduce_mean(images))
        self.seen += 1
        return images - self.mean


def shrink(images, size):
    """Halves the images until they have `size` rows: calls itself."""
    if images.shape[1] <= size:
        return images
    return shrink(tf.nn.avg_pool2d(images, 2, 2, "VALID"), size)


def strips(images):
    """Each row of the pictures in turn: a generator."""
    for row in range(images.shape[1]):
        yield images[:, row]
