"""The loss: cross-entropy with smoothed labels."""

import tensorflow as tf

from .data import CLASSES

SMOOTHING = 0.05


def smooth(labels):
    targets = tf.one_hot(labels, CLASSES)
    return targets * (1.0 - SMOOTHING) + SMOOTHING / CLASSES


def cross_entropy(labels, scores):
    losses = tf.nn.softmax_cross_entropy_with_logits(labels=smooth(labels), logits=scores)
    return tf.reduce_mean(losses)
