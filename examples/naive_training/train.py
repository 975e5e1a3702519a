"""Fits a small network to noisy curves, the way tutorials do: one eager step after the other.

python train.py [STEPS] [FILE]    FILE gets the loss of every step, digit for digit
"""

import logging
import sys
import time

import numpy as np
import tensorflow as tf
from network import Network

BATCH = 32
seen = 0


def make_data(examples=512):
    """Sums of two sines, with noise."""
    rng = np.random.default_rng(7)
    x = rng.uniform(-3.0, 3.0, (examples, 2)).astype(np.float32)
    y = np.sin(x[:, :1] * 2.0) + np.cos(x[:, 1:]) * 0.5 + rng.normal(0.0, 0.05, (examples, 1))
    return tf.constant(x), tf.constant(y.astype(np.float32))


class Trainer:
    """Adam by hand, with gradients that are clipped."""

    def __init__(self, network, rate=0.003):
        self.network = network
        self.rate = rate
        self.step = 0
        self.means = [tf.Variable(tf.zeros_like(w), trainable=False) for w in network.weights]
        self.squares = [tf.Variable(tf.zeros_like(w), trainable=False) for w in network.weights]

    def train_step(self, inputs, targets, epoch):
        """One step; gives the loss."""
        global seen
        with tf.GradientTape() as tape:
            self.predictions = self.network(inputs)
            self.loss = self.network.penalty() + tf.reduce_mean(tf.square(self.predictions - targets))
        assert tf.math.is_finite(self.loss), "the loss is not a number any more"
        gradients = tape.gradient(self.loss, self.network.weights)
        self.norm = tf.linalg.global_norm(gradients)
        for w, m, s, g in zip(self.network.weights, self.means, self.squares, gradients):
            g = g / tf.maximum(self.norm, 1.0)
            m.assign(0.9 * m + 0.1 * g)
            s.assign(0.999 * s + 0.001 * g * g)
            w.assign_sub(self.rate * m / (tf.sqrt(s) + 1e-5))
        self.step += 1
        seen += BATCH
        if self.step % 200 == 0:
            print(f"epoch {epoch:3d} step {self.step:5d}: loss {self.loss.numpy():.6f}, norm {self.norm:.4f}")
        return self.loss.numpy()


def train(steps):
    """The losses of all steps, and how many seconds they took."""
    x, y = make_data()
    trainer = Trainer(Network(width=24, depth=4))
    batches = x.shape[0] // BATCH
    losses = []
    trainer.train_step(x[:BATCH], y[:BATCH], 0)
    started = time.perf_counter()
    for i in range(steps):
        epoch, batch = i // batches, i % batches
        first = batch * BATCH
        losses.append(trainer.train_step(x[first : first + BATCH], y[first : first + BATCH], epoch))
    return losses, time.perf_counter() - started


def main():
    """Trains and reports."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    losses, seconds = train(steps)
    logging.info("%d steps, %d examples, last loss %.6f, %.2f seconds", steps, seen, losses[-1], seconds)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write("".join(f"{float(loss).hex()}\n" for loss in losses))


if __name__ == "__main__":
    main()
