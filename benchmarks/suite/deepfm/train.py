"""Click prediction with DeepFM on synthetic impressions."""

import argparse
import time

import numpy as np
import tensorflow as tf
from model import DeepFM
from tensorflow import keras

FIELD_SIZES = [100, 50, 200, 20, 10, 30, 80, 40]
NUM_DENSE = 4
BATCH_SIZE = 128


def make_impressions(count, seed):
    """Clicks that depend on pairs of hidden vectors of the fields, and on the dense features."""
    truth = np.random.default_rng(23)
    vectors = [truth.normal(0, 0.6, (size, 4)) for size in FIELD_SIZES]
    slopes = truth.normal(0, 0.5, NUM_DENSE)
    rng = np.random.default_rng(seed)
    sparse = np.stack([rng.integers(0, size, count) for size in FIELD_SIZES], axis=1)
    dense = rng.normal(0, 1, (count, NUM_DENSE))
    hidden = np.stack([table[sparse[:, i]] for i, table in enumerate(vectors)], axis=1)
    score = 0.5 * ((hidden.sum(1) ** 2) - (hidden**2).sum(1)).sum(1) + dense @ slopes - 0.5
    clicks = rng.random(count) < 1 / (1 + np.exp(-score))
    features = {"dense": dense.astype("float32"), "sparse": sparse.astype("int32")}
    return features, clicks.astype("float32")


def train_step(model, optimizer, loss_fn, metrics, features, labels):
    """One update; the metrics see the predictions before it."""
    with tf.GradientTape() as tape:
        logits = model(features, training=True)
        loss = loss_fn(labels, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    metrics["loss"].update_state(loss)
    metrics["auc"].update_state(labels, tf.sigmoid(logits))


def test_step(model, loss_fn, metrics, features, labels):
    logits = model(features, training=False)
    metrics["loss"].update_state(loss_fn(labels, logits))
    metrics["auc"].update_state(labels, tf.sigmoid(logits))


def report(name, metrics):
    """Prints the metrics and starts them anew."""
    print(f"{name} loss: {float(metrics['loss'].result()):.4f} - auc: {float(metrics['auc'].result()):.4f}")
    for metric in metrics.values():
        metric.reset_state()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    keras.utils.set_random_seed(8)

    train = tf.data.Dataset.from_tensor_slices(make_impressions(20000, seed=1)).repeat().shuffle(5000, seed=5)
    test = tf.data.Dataset.from_tensor_slices(make_impressions(4000, seed=2)).batch(500)
    model = DeepFM(FIELD_SIZES, NUM_DENSE)
    model.build()
    optimizer = keras.optimizers.Adam(2e-3)
    loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)
    metrics = {"loss": keras.metrics.Mean(), "auc": keras.metrics.AUC()}

    start = time.perf_counter()
    for step, (features, labels) in enumerate(train.batch(BATCH_SIZE).take(args.steps), 1):
        train_step(model, optimizer, loss_fn, metrics, features, labels)
        if step % 100 == 0:
            report(f"step {step}", metrics)
    print(f"training time {time.perf_counter() - start:.2f} s")
    for metric in metrics.values():
        metric.reset_state()
    for features, labels in test:
        test_step(model, loss_fn, metrics, features, labels)
    report("test", metrics)


if __name__ == "__main__":
    main()
