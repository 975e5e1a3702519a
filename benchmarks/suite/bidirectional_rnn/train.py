"""Classifies images by reading their rows with a bidirectional LSTM."""

import argparse
import time

import numpy as np
import tensorflow as tf
from tensorflow.keras import Model, layers

num_classes = 10
timesteps, num_input = 14, 14  # rows of an image, pixels of a row
num_units = 32
batch_size = 32
display_step = 50


class BiRNN(Model):
    """Two LSTMs, one for each direction, and a linear layer."""

    def __init__(self):
        super().__init__()
        forward = layers.LSTM(num_units)
        backward = layers.LSTM(num_units, go_backwards=True)
        self.bi_lstm = layers.Bidirectional(forward, backward_layer=backward)
        self.out = layers.Dense(num_classes)

    def build(self, input_shape):
        self.bi_lstm.build(input_shape)
        self.out.build((input_shape[0], 2 * num_units))
        self.built = True

    def call(self, x, is_training=False):
        x = self.bi_lstm(x)
        x = self.out(x)
        if not is_training:
            x = tf.nn.softmax(x)
        return x


tf.keras.utils.set_random_seed(6)
birnn_net = BiRNN()
optimizer = tf.keras.optimizers.Adam(1e-3)


def cross_entropy_loss(x, y):
    y = tf.cast(y, tf.int64)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
    return tf.reduce_mean(loss)


def accuracy(y_pred, y_true):
    correct = tf.equal(tf.argmax(y_pred, 1), tf.cast(y_true, tf.int64))
    return tf.reduce_mean(tf.cast(correct, tf.float32), axis=-1)


def run_optimization(x, y):
    """One step on one batch; loss and accuracy before it."""
    with tf.GradientTape() as g:
        pred = birnn_net(x, is_training=True)
        loss = cross_entropy_loss(pred, y)
    trainable_variables = birnn_net.trainable_variables
    gradients = g.gradient(loss, trainable_variables)
    optimizer.apply_gradients(zip(gradients, trainable_variables, strict=True))
    return loss, accuracy(pred, y)


def make_digits(count, seed):
    """Noisy, shifted copies of ten fixed patterns."""
    prototypes = np.random.default_rng(17).random((num_classes, timesteps, num_input)) ** 2
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, num_classes, count)
    shifts = rng.integers(-2, 3, count)
    images = np.stack([np.roll(prototypes[label], shift, axis=1) for label, shift in zip(labels, shifts, strict=True)])
    images = 0.7 * images + 0.3 * rng.random(images.shape)
    return images.astype("float32"), labels.astype("int64")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    birnn_net.build((None, timesteps, num_input))

    x_train, y_train = make_digits(4000, seed=1)
    x_test, y_test = make_digits(500, seed=2)
    train_data = tf.data.Dataset.from_tensor_slices((x_train, y_train)).repeat().shuffle(4000, seed=1).batch(batch_size)
    start = time.perf_counter()
    for step, (batch_x, batch_y) in enumerate(train_data.take(args.steps), 1):
        loss, acc = run_optimization(batch_x, batch_y)
        if step % display_step == 0:
            print(f"step: {step}, loss: {loss:.6f}, accuracy: {acc:.4f}")
    print(f"training took {time.perf_counter() - start:.2f} s")
    pred = birnn_net(x_test)
    print(f"test accuracy: {accuracy(pred, y_test):.4f}")


if __name__ == "__main__":
    main()
