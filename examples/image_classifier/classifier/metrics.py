"""How good the scores are."""

import numpy as np
import tensorflow as tf

from .data import CLASSES


def accuracy(labels, scores):
    hits = tf.equal(tf.argmax(scores, axis=1, output_type=tf.int32), labels)
    return tf.reduce_mean(tf.cast(hits, tf.float32))


def confusion(labels, scores):
    """Counts as a NumPy array: needs values, so it can't be traced."""
    table = np.zeros((CLASSES, CLASSES), dtype=int)
    guesses = tf.argmax(scores, axis=1).numpy()
    for label, guess in zip(labels.numpy(), guesses, strict=True):
        table[label, guess] += 1
    return table


class RunningMean:
    """The mean of what was added, kept in Python numbers."""

    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, value):
        self.total += float(value)
        self.count += 1

    def result(self):
        return self.total / max(self.count, 1)
