"""Anchor boxes, their overlap with true boxes, and the targets of training. Boxes are [y1, x1, y2, x2] in pixels."""

import numpy as np
import tensorflow as tf


def make_anchors(image_size, stride, sizes):
    """Square anchors at each cell of the feature map, [cells * sizes, 4]."""
    centres = np.arange(stride / 2, image_size, stride)
    yy, xx = np.meshgrid(centres, centres, indexing="ij")
    boxes = [
        np.stack([yy - size / 2, xx - size / 2, yy + size / 2, xx + size / 2], axis=-1).reshape(-1, 4) for size in sizes
    ]
    return tf.constant(np.stack(boxes, axis=1).reshape(-1, 4), tf.float32)


def iou(boxes1, boxes2):
    """Intersection over union of all pairs, [n, m]."""
    top_left = tf.maximum(boxes1[:, tf.newaxis, :2], boxes2[tf.newaxis, :, :2])
    bottom_right = tf.minimum(boxes1[:, tf.newaxis, 2:], boxes2[tf.newaxis, :, 2:])
    overlap = tf.reduce_prod(tf.maximum(bottom_right - top_left, 0.0), axis=-1)
    area1 = tf.reduce_prod(boxes1[:, 2:] - boxes1[:, :2], axis=-1)
    area2 = tf.reduce_prod(boxes2[:, 2:] - boxes2[:, :2], axis=-1)
    return overlap / (area1[:, tf.newaxis] + area2[tf.newaxis, :] - overlap + 1e-9)


def encode(boxes, anchors):
    """Boxes as offsets from anchors."""
    sizes = anchors[:, 2:] - anchors[:, :2]
    centres = (anchors[:, 2:] + anchors[:, :2]) / 2
    box_sizes = tf.maximum(boxes[:, 2:] - boxes[:, :2], 1.0)
    box_centres = (boxes[:, 2:] + boxes[:, :2]) / 2
    return tf.concat([(box_centres - centres) / sizes, tf.math.log(box_sizes / sizes)], axis=-1)


def decode(offsets, anchors):
    """Offsets back to boxes."""
    sizes = anchors[:, 2:] - anchors[:, :2]
    centres = (anchors[:, 2:] + anchors[:, :2]) / 2
    box_sizes = tf.exp(tf.clip_by_value(offsets[:, 2:], -4.0, 4.0)) * sizes
    box_centres = offsets[:, :2] * sizes + centres
    return tf.concat([box_centres - box_sizes / 2, box_centres + box_sizes / 2], axis=-1)


def assign_targets(anchors, boxes, labels):
    """Class and offsets that each anchor should predict: class 0 is background, -1 is to be ignored."""
    overlaps = iou(anchors, boxes)
    best = tf.argmax(overlaps, axis=1)
    best_overlap = tf.reduce_max(overlaps, axis=1)
    # The best anchor of each true box counts in any case.
    forced = tf.reduce_any((overlaps >= tf.reduce_max(overlaps, axis=0, keepdims=True)) & (overlaps > 0.1), axis=1)
    classes = tf.gather(labels, best)
    classes = tf.where((best_overlap >= 0.5) | forced, classes, tf.where(best_overlap < 0.4, 0, -1))
    return classes, encode(tf.gather(boxes, best), anchors)
