"""Semi-supervised classification of the nodes of one graph: few labels, full-batch training."""

import argparse
import time

import numpy as np
import tensorflow as tf
from layers import GraphNetwork
from tensorflow import keras

NUM_NODES, NUM_CLASSES, NUM_FEATURES = 400, 5, 64


def make_graph(seed):
    """A graph of communities: most edges stay inside of one; features are noisy hints."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, NUM_CLASSES, NUM_NODES)
    same = labels[:, None] == labels[None, :]
    adjacent = rng.random((NUM_NODES, NUM_NODES)) < np.where(same, 0.03, 0.004)
    np.fill_diagonal(adjacent, True)
    edges = np.argwhere(adjacent | adjacent.T)
    centres = rng.normal(0, 1, (NUM_CLASSES, NUM_FEATURES))
    features = 0.25 * centres[labels] + rng.normal(0, 1, (NUM_NODES, NUM_FEATURES))
    train = rng.random(NUM_NODES) < 0.2
    return features.astype("float32"), edges.astype("int32"), labels.astype("int64"), train.astype("float32")


class NodeClassifier:
    def __init__(self, learning_rate=5e-3, weight_decay=5e-4):
        self.model = GraphNetwork(NUM_FEATURES, NUM_CLASSES)
        self.model.build()
        self.optimizer = keras.optimizers.Adam(learning_rate)
        self.weight_decay = weight_decay

    def masked_loss(self, logits, labels, mask):
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        penalty = tf.add_n([tf.nn.l2_loss(v) for v in self.model.trainable_variables])
        return tf.reduce_sum(losses * mask) / tf.reduce_sum(mask) + self.weight_decay * penalty

    def masked_accuracy(self, logits, labels, mask):
        right = tf.cast(tf.equal(tf.argmax(logits, axis=1), labels), tf.float32)
        return tf.reduce_sum(right * mask) / tf.reduce_sum(mask)

    def train_step(self, features, edges, labels, mask):
        with tf.GradientTape() as tape:
            logits = self.model(features, edges, training=True)
            loss = self.masked_loss(logits, labels, mask)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables, strict=True))
        return loss

    def evaluate(self, features, edges, labels, mask):
        logits = self.model(features, edges, training=False)
        return self.masked_loss(logits, labels, mask), self.masked_accuracy(logits, labels, mask)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=450, help="epochs: each sees the whole graph")
    args = parser.parse_args()
    keras.utils.set_random_seed(12)

    features, edges, labels, train_mask = (tf.constant(array) for array in make_graph(seed=1))
    classifier = NodeClassifier()
    start = time.perf_counter()
    for epoch in range(1, args.steps + 1):
        loss = classifier.train_step(features, edges, labels, train_mask)
        if epoch % 50 == 0:
            val_loss, val_accuracy = classifier.evaluate(features, edges, labels, 1 - train_mask)
            print(f"epoch {epoch}: loss {loss:.4f}, val_loss {val_loss:.4f}, val_accuracy {val_accuracy:.4f}")
    print(f"took {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
