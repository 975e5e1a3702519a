"""A small convolutional network on synthetic shapes (squares, discs, crosses, ...), with dropout."""

import argparse
import time

import numpy as np
import tensorflow as tf
from tensorflow.keras import Model, layers

IMAGE_SIZE = 28
NUM_CLASSES = 4
BATCH_SIZE = 16


class ConvNet(Model):
    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(8, kernel_size=5, padding="same", activation="relu")
        self.maxpool1 = layers.MaxPool2D(2, strides=2)
        self.conv2 = layers.Conv2D(16, kernel_size=3, padding="same", activation="relu")
        self.maxpool2 = layers.MaxPool2D(2, strides=2)
        self.flatten = layers.Flatten()
        self.fc1 = layers.Dense(64, activation="relu")
        self.dropout = layers.Dropout(0.25, seed=1)
        self.out = layers.Dense(NUM_CLASSES)

    def build(self, input_shape):
        size = IMAGE_SIZE
        self.conv1.build((None, size, size, 1))
        self.conv2.build((None, size // 2, size // 2, 8))
        self.fc1.build((None, (size // 4) ** 2 * 16))
        self.out.build((None, 64))
        self.built = True

    def call(self, x, training=False):
        x = tf.reshape(x, [-1, IMAGE_SIZE, IMAGE_SIZE, 1])
        x = self.maxpool1(self.conv1(x))
        x = self.maxpool2(self.conv2(x))
        x = self.fc1(self.flatten(x))
        x = self.dropout(x, training=training)
        x = self.out(x)
        if not training:
            # Cross entropy expects logits; softmax only when it is not training.
            x = tf.nn.softmax(x)
        return x


def cross_entropy_loss(x, y):
    y = tf.cast(y, tf.int64)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
    return tf.reduce_mean(loss)


def accuracy(y_pred, y_true):
    correct_prediction = tf.equal(tf.argmax(y_pred, 1), tf.cast(y_true, tf.int64))
    return tf.reduce_mean(tf.cast(correct_prediction, tf.float32), axis=-1)


def make_shapes(count, seed):
    """Squares, discs, crosses and rings at random places, with noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, NUM_CLASSES, count)
    centres = rng.uniform(9, 19, (count, 2, 1, 1))
    radii = rng.uniform(4, 8, (count, 1, 1))
    yy, xx = np.mgrid[0:IMAGE_SIZE, 0:IMAGE_SIZE]
    dy, dx = np.abs(yy - centres[:, 0]), np.abs(xx - centres[:, 1])
    distance = np.hypot(dy, dx)
    kinds = np.stack(
        [
            np.maximum(dy, dx) < radii,
            distance < radii,
            (np.minimum(dy, dx) < 2) & (np.maximum(dy, dx) < radii),
            np.abs(distance - radii) < 1.5,
        ]
    )
    images = kinds[labels, np.arange(count)] + rng.normal(0, 0.4, (count, IMAGE_SIZE, IMAGE_SIZE))
    return images.astype("float32"), labels


def main(steps):
    tf.keras.utils.set_random_seed(2)
    x_train, y_train = make_shapes(4000, seed=1)
    x_test, y_test = make_shapes(500, seed=2)
    train_data = tf.data.Dataset.from_tensor_slices((x_train, y_train)).repeat().shuffle(4000, seed=3).batch(BATCH_SIZE)

    conv_net = ConvNet()
    conv_net.build((None, IMAGE_SIZE, IMAGE_SIZE))
    optimizer = tf.keras.optimizers.Adam(1e-3)

    def run_optimization(x, y):
        with tf.GradientTape() as g:
            pred = conv_net(x, training=True)
            loss = cross_entropy_loss(pred, y)
        trainable_variables = conv_net.trainable_variables
        gradients = g.gradient(loss, trainable_variables)
        optimizer.apply_gradients(zip(gradients, trainable_variables, strict=True))

    start = time.perf_counter()
    for step, (batch_x, batch_y) in enumerate(train_data.take(steps), 1):
        run_optimization(batch_x, batch_y)
        if step % 200 == 0:
            pred = conv_net(batch_x)
            loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(batch_y, pred))
            print(f"step: {step}, loss: {loss:.4f}, accuracy: {accuracy(pred, batch_y):.4f}")
    print(f"elapsed: {time.perf_counter() - start:.2f} s")

    pred = conv_net(x_test)
    loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(y_test, pred))
    print(f"test loss: {loss:.4f}, test accuracy: {accuracy(pred, y_test):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500)
    main(parser.parse_args().steps)
