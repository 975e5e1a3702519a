"""Sequences of varying length, padded and masked: is this one a noisy line, or random numbers?"""

import argparse
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

MIN_LENGTH, MAX_LENGTH = 5, 20
BATCH_SIZE = 32
UNITS = 32


def generate_sequences(count, seed):
    """Half linear sequences (class 0), half random ones (class 1), each of its own length."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        length = rng.integers(MIN_LENGTH, MAX_LENGTH + 1)
        if rng.random() < 0.5:
            start, slope = rng.uniform(0, 0.5), rng.uniform(0, 0.5 / MAX_LENGTH)
            values = start + slope * np.arange(length) + rng.normal(0, 0.08, length)
            label = 0
        else:
            values = rng.uniform(0, 1, length)
            label = 1
        yield values.astype("float32")[:, None], np.int64(label)


def make_dataset(count, seed):
    dataset = tf.data.Dataset.from_generator(
        lambda: generate_sequences(count, seed),
        output_signature=(tf.TensorSpec([None, 1], tf.float32), tf.TensorSpec([], tf.int64)),
    )
    return dataset.padded_batch(
        BATCH_SIZE, padded_shapes=([None, 1], []), padding_values=(-1.0, tf.constant(0, tf.int64))
    )


class DynamicRNN(keras.Model):
    """An LSTM that ignores the padding, and a classifier on its last output."""

    def __init__(self):
        super().__init__()
        self.masking = keras.layers.Masking(mask_value=-1.0)
        self.lstm = keras.layers.LSTM(UNITS)
        self.out = keras.layers.Dense(2)

    def build(self, input_shape):
        self.lstm.build(input_shape)
        self.out.build((input_shape[0], UNITS))
        self.built = True

    def call(self, x):
        x = self.masking(x)
        x = self.lstm(x)
        return self.out(x)


class Trainer:
    def __init__(self, model, learning_rate):
        self.model = model
        self.optimizer = keras.optimizers.Adam(learning_rate)
        self.loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.train_loss = keras.metrics.Mean(name="train_loss")
        self.train_accuracy = keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
        self.test_loss = keras.metrics.Mean(name="test_loss")
        self.test_accuracy = keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")

    def train_step(self, sequences, labels):
        with tf.GradientTape() as tape:
            logits = self.model(sequences)
            loss = self.loss_fn(labels, logits)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables, strict=True))
        self.train_loss.update_state(loss)
        self.train_accuracy.update_state(labels, logits)

    def test_step(self, sequences, labels):
        logits = self.model(sequences)
        self.test_loss.update_state(self.loss_fn(labels, logits))
        self.test_accuracy.update_state(labels, logits)

    def fit(self, train_data, test_data, steps, report_every):
        for step, (sequences, labels) in enumerate(train_data.take(steps), 1):
            self.train_step(sequences, labels)
            if step % report_every == 0:
                loss, accuracy = self.train_loss.result(), self.train_accuracy.result()
                print(f"step {step}: loss {float(loss):.4f}, accuracy {float(accuracy):.4f}")
                self.train_loss.reset_state()
                self.train_accuracy.reset_state()
        for sequences, labels in test_data:
            self.test_step(sequences, labels)
        loss, accuracy = self.test_loss.result(), self.test_accuracy.result()
        print(f"test loss {float(loss):.4f}, test accuracy {float(accuracy):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=240)
    args = parser.parse_args()
    keras.utils.set_random_seed(5)

    train_data = make_dataset(3200, seed=1).cache().repeat()
    test_data = make_dataset(320, seed=2)
    model = DynamicRNN()
    model.build((None, None, 1))
    trainer = Trainer(model, learning_rate=3e-3)
    start = time.perf_counter()
    trainer.fit(train_data, test_data, args.steps, report_every=60)
    print(f"time: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
