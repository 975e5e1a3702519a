"""Trains the detector on squares and discs in noise: anchors, focal loss, smooth L1, non-maximum suppression."""

import argparse
import time

import numpy as np
import tensorflow as tf
from anchors import assign_targets, decode, iou, make_anchors
from model import Detector
from tensorflow import keras

IMAGE_SIZE = 48
NUM_CLASSES = 3  # background, square, disc
MAX_BOXES = 3
BATCH_SIZE = 8
SIZES = (10.0, 16.0)
ANCHORS = make_anchors(IMAGE_SIZE, 8, SIZES)


def make_scenes(count, seed):
    """Images with one to three objects; unused boxes are empty."""
    rng = np.random.default_rng(seed)
    images = rng.normal(0, 0.15, (count, IMAGE_SIZE, IMAGE_SIZE, 3)).astype("float32")
    boxes = np.zeros((count, MAX_BOXES, 4), "float32")
    labels = np.zeros((count, MAX_BOXES), "int32")
    yy, xx = np.mgrid[0:IMAGE_SIZE, 0:IMAGE_SIZE]
    for i in range(count):
        for j in range(rng.integers(1, MAX_BOXES + 1)):
            size = rng.uniform(8, 18)
            y, x = rng.uniform(size / 2, IMAGE_SIZE - size / 2, 2)
            labels[i, j] = rng.integers(1, NUM_CLASSES)
            if labels[i, j] == 1:
                inside = np.maximum(np.abs(yy - y), np.abs(xx - x)) < size / 2
            else:
                inside = np.hypot(yy - y, xx - x) < size / 2
            images[i][inside] += rng.uniform(0.4, 1, 3).astype("float32")
            boxes[i, j] = [y - size / 2, x - size / 2, y + size / 2, x + size / 2]
    return images, boxes, labels


def focal_loss(logits, classes, alpha=0.5, gamma=2.0):
    """Cross entropy that dwells on hard examples, without the anchors to be ignored."""
    counted = tf.cast(classes >= 0, tf.float32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.maximum(classes, 0), logits=logits)
    weights = alpha * tf.pow(1.0 - tf.exp(-losses), gamma)
    positives = tf.reduce_sum(tf.cast(classes > 0, tf.float32))
    return tf.reduce_sum(counted * weights * losses) / tf.maximum(positives, 1.0)


def smooth_l1(predicted, wanted, classes):
    positive = tf.cast(classes > 0, tf.float32)
    difference = tf.abs(predicted - wanted)
    losses = tf.where(difference < 1.0, 0.5 * tf.square(difference), difference - 0.5)
    return tf.reduce_sum(tf.reduce_sum(losses, -1) * positive) / tf.maximum(tf.reduce_sum(positive), 1.0)


class Trainer:
    def __init__(self, model, learning_rate=2e-3):
        self.model = model
        self.optimizer = keras.optimizers.Adam(learning_rate)

    def targets(self, boxes, labels):
        """Targets of a batch, image by image."""
        wanted = [assign_targets(ANCHORS, boxes[i], labels[i]) for i in range(BATCH_SIZE)]
        return tf.stack([classes for classes, _ in wanted]), tf.stack([offsets for _, offsets in wanted])

    def train_step(self, images, boxes, labels):
        classes, offsets = self.targets(boxes, labels)
        with tf.GradientTape() as tape:
            logits, predicted = self.model(images, training=True)
            class_loss = focal_loss(logits, classes)
            box_loss = smooth_l1(predicted, offsets, classes)
            loss = class_loss + box_loss
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables, strict=True))
        return class_loss, box_loss


def detect(model, image, max_detections=5, threshold=0.3):
    """Boxes, classes and scores of one image."""
    logits, offsets = model(image[tf.newaxis], training=False)
    scores = tf.nn.softmax(logits[0])[:, 1:]
    boxes = decode(offsets[0], ANCHORS)
    best = tf.reduce_max(scores, axis=-1)
    kept = tf.image.non_max_suppression(boxes, best, max_detections, iou_threshold=0.4, score_threshold=threshold)
    return tf.gather(boxes, kept), tf.gather(tf.argmax(scores, axis=-1), kept) + 1, tf.gather(best, kept)


def evaluate(model, images, boxes, labels):
    """Share of true objects that are found: same class, overlap of at least one half."""
    found = total = 0
    for image, true_boxes, true_labels in zip(images, boxes, labels, strict=True):
        detected, classes, _ = detect(model, tf.convert_to_tensor(image))
        present = true_labels > 0
        total += int(present.sum())
        if len(detected):
            overlaps = iou(tf.constant(true_boxes[present]), detected).numpy()
            same = true_labels[present][:, None] == classes.numpy()[None, :]
            found += int(((overlaps >= 0.5) & same).any(axis=1).sum())
    return found / total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    keras.utils.set_random_seed(31)

    train_data = tf.data.Dataset.from_tensor_slices(make_scenes(1000, seed=1)).repeat().shuffle(1000, seed=2)
    model = Detector(NUM_CLASSES, len(SIZES))
    model.build((None, IMAGE_SIZE, IMAGE_SIZE, 3))
    trainer = Trainer(model)
    history = []
    start = time.perf_counter()
    for step, (images, boxes, labels) in enumerate(train_data.batch(BATCH_SIZE).take(args.steps), 1):
        history.append(trainer.train_step(images, boxes, labels))
        if step % 50 == 0:
            class_loss, box_loss = tf.reduce_mean(history[-50:], axis=0)
            print(f"step {step}: class loss {class_loss:.4f}, box loss {box_loss:.4f}")
    print(f"training: {time.perf_counter() - start:.1f} s")
    recall = evaluate(model, *make_scenes(50, seed=3))
    print(f"recall: {recall:.4f}")


if __name__ == "__main__":
    main()
