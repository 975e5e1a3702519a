"""Boxes of a detector. Timed: to_corners, iou_matrix, encode, decode, match, detection_loss."""

import tensorflow as tf


def to_corners(boxes):
    centre, size = boxes[..., :2], boxes[..., 2:]
    return tf.concat([centre - size / 2.0, centre + size / 2.0], axis=-1)


def iou_matrix(first, second):
    a, b = to_corners(first), to_corners(second)
    low = tf.maximum(a[:, None, :2], b[None, :, :2])
    high = tf.minimum(a[:, None, 2:], b[None, :, 2:])
    sides = tf.maximum(0.0, high - low)
    shared = sides[..., 0] * sides[..., 1]
    area_a, area_b = first[:, 2] * first[:, 3], second[:, 2] * second[:, 3]
    return shared / tf.maximum(area_a[:, None] + area_b[None] - shared, 1e-8)


def encode(anchors, boxes):
    return tf.concat([(boxes[:, :2] - anchors[:, :2]) / anchors[:, 2:], tf.math.log(boxes[:, 2:] / anchors[:, 2:])], -1)


def decode(anchors, offsets):
    return tf.concat([offsets[:, :2] * anchors[:, 2:] + anchors[:, :2], tf.exp(offsets[:, 2:]) * anchors[:, 2:]], -1)


def match(anchors, boxes):
    overlap = iou_matrix(anchors, boxes)
    best = tf.argmax(overlap, axis=1)
    value = tf.reduce_max(overlap, axis=1)
    return best, value >= 0.5, tf.logical_and(value >= 0.4, value < 0.5)


def detection_loss(anchors, boxes, offsets, scores):
    best, positive, ignored = match(anchors, boxes)
    wanted = encode(anchors, tf.gather(boxes, best))
    error = tf.abs(wanted - offsets)
    smooth = tf.where(error < 1.0, 0.5 * error**2, error - 0.5)
    mask = tf.cast(positive, tf.float32)
    where = tf.reduce_sum(tf.reduce_sum(smooth, -1) * mask) / tf.maximum(tf.reduce_sum(mask), 1.0)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(mask, scores)
    return where + tf.reduce_mean(entropy * (1.0 - tf.cast(ignored, tf.float32)))


if __name__ == "__main__":
    for _ in range(50):
        anchors, boxes = tf.random.uniform([3000, 4], 0.1), tf.random.uniform([12, 4], 0.1)
        offsets = tf.random.normal([3000, 4])
        detection_loss(anchors, boxes, offsets, tf.random.normal([3000]))
        decode(anchors, offsets)
