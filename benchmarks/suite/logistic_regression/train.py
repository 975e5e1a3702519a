"""Softmax regression from scratch on synthetic digits: variables, a loss and plain gradient descent."""

import argparse
import time

import numpy as np
import tensorflow as tf

num_classes = 10
num_features = 784
learning_rate = 0.05
batch_size = 32
display_step = 1000

# Weight of shape [784, 10], the 28*28 image features and total number of classes.
W = tf.Variable(tf.zeros([num_features, num_classes]), name="weight")
b = tf.Variable(tf.zeros([num_classes]), name="bias")
optimizer = tf.keras.optimizers.SGD(learning_rate)


def make_digits(count, seed):
    """Ten fixed prototypes with noise on top, flattened to vectors in [0, 1]."""
    prototypes = np.random.default_rng(7).random((num_classes, num_features))
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, num_classes, count)
    images = 0.4 * prototypes[labels] + 0.6 * rng.random((count, num_features))
    return images.astype("float32"), labels.astype("int64")


def logistic_regression(x):
    """Softmax over a linear model."""
    return tf.nn.softmax(tf.matmul(x, W) + b)


def cross_entropy(y_pred, y_true):
    """Mean cross entropy, clipped so that the logarithm of zero never occurs."""
    y_true = tf.one_hot(y_true, depth=num_classes)
    y_pred = tf.clip_by_value(y_pred, 1e-9, 1.0)
    return tf.reduce_mean(-tf.reduce_sum(y_true * tf.math.log(y_pred), 1))


def accuracy(y_pred, y_true):
    """Share of right predictions."""
    correct = tf.equal(tf.argmax(y_pred, 1), tf.cast(y_true, tf.int64))
    return tf.reduce_mean(tf.cast(correct, tf.float32))


def run_optimization(x, y):
    """One step of gradient descent."""
    with tf.GradientTape() as tape:
        loss = cross_entropy(logistic_regression(x), y)
    gradients = tape.gradient(loss, [W, b])
    optimizer.apply_gradients(zip(gradients, [W, b], strict=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=7500)
    args = parser.parse_args()
    tf.keras.utils.set_random_seed(1)

    x_train, y_train = make_digits(6000, seed=1)
    x_test, y_test = make_digits(1000, seed=2)
    train_data = tf.data.Dataset.from_tensor_slices((x_train, y_train)).repeat().shuffle(5000, seed=3).batch(batch_size)

    start = time.perf_counter()
    for step, (batch_x, batch_y) in enumerate(train_data.take(args.steps), 1):
        run_optimization(batch_x, batch_y)
        if step % display_step == 0 or step == args.steps:
            pred = logistic_regression(batch_x)
            loss = cross_entropy(pred, batch_y)
            acc = accuracy(pred, batch_y)
            print(f"step: {step}, loss: {loss:.4f}, accuracy: {acc:.4f}")
    print(f"training time: {time.perf_counter() - start:.2f} s")

    pred = logistic_regression(x_test)
    print(f"test loss: {cross_entropy(pred, y_test):.4f}, test accuracy: {accuracy(pred, y_test):.4f}")


if __name__ == "__main__":
    main()
