"""Trains the transformer to reverse sequences of numbers."""

import argparse
import time

import numpy as np
import tensorflow as tf
from model import Transformer
from tensorflow import keras

VOCABULARY = 24  # 0 is padding, 1 starts a sequence, 2 ends it
MAX_LENGTH = 16
BATCH_SIZE = 16


class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Grows linearly, then falls with the square root of the step."""

    def __init__(self, d_model, warmup_steps=60):
        super().__init__()
        self.d_model = d_model
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32) + 1.0
        return tf.math.rsqrt(tf.cast(self.d_model, tf.float32)) * tf.math.minimum(
            tf.math.rsqrt(step), step * self.warmup_steps**-1.5
        )


def make_pairs(count, seed):
    """Sequences of 6 to 12 numbers and their reversal, padded with zeros."""
    rng = np.random.default_rng(seed)
    source = np.zeros((count, MAX_LENGTH), "int64")
    target = np.zeros((count, MAX_LENGTH), "int64")
    for row in range(count):
        numbers = rng.integers(3, VOCABULARY, rng.integers(6, 13))
        source[row, : len(numbers) + 2] = [1, *numbers, 2]
        target[row, : len(numbers) + 2] = [1, *numbers[::-1], 2]
    return source, target


keras.utils.set_random_seed(3)
transformer = Transformer(VOCABULARY, MAX_LENGTH)
optimizer = keras.optimizers.Adam(WarmupSchedule(64), beta_1=0.9, beta_2=0.98, epsilon=1e-9)
loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
train_loss = keras.metrics.Mean(name="train_loss")
train_accuracy = keras.metrics.Mean(name="train_accuracy")


def loss_function(real, pred):
    """Mean loss over what is no padding."""
    loss = loss_object(real, pred)
    mask = tf.cast(tf.not_equal(real, 0), loss.dtype)
    return tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)


def accuracy_function(real, pred):
    """Share of right tokens among what is no padding."""
    right = tf.equal(real, tf.argmax(pred, axis=2))
    mask = tf.not_equal(real, 0)
    right = tf.cast(tf.logical_and(mask, right), tf.float32)
    return tf.reduce_sum(right) / tf.reduce_sum(tf.cast(mask, tf.float32))


def train_step(source, target):
    inputs, real = target[:, :-1], target[:, 1:]
    with tf.GradientTape() as tape:
        predictions = transformer(source, inputs, training=True)
        loss = loss_function(real, predictions)
    gradients = tape.gradient(loss, transformer.trainable_variables)
    optimizer.apply_gradients(zip(gradients, transformer.trainable_variables, strict=True))
    train_loss(loss)
    train_accuracy(accuracy_function(real, predictions))


def evaluate(source, target):
    predictions = transformer(source, target[:, :-1], training=False)
    return loss_function(target[:, 1:], predictions), accuracy_function(target[:, 1:], predictions)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    transformer.build()

    train_batches = tf.data.Dataset.from_tensor_slices(make_pairs(4000, seed=1)).repeat().shuffle(4000, seed=4)
    start = time.perf_counter()
    for step, (source, target) in enumerate(train_batches.batch(BATCH_SIZE).take(args.steps), start=1):
        train_step(source, target)
        if step % 20 == 0:
            print(f"step {step} loss {train_loss.result():.4f} accuracy {train_accuracy.result():.4f}")
            train_loss.reset_state()
            train_accuracy.reset_state()
    print(f"trained in {time.perf_counter() - start:.1f} s")

    source, target = make_pairs(200, seed=2)
    loss, accuracy = evaluate(tf.constant(source), tf.constant(target))
    print(f"test loss {loss:.4f} test accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
