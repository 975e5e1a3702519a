"""Losses as libraries offer them. Timed: focal, contrastive, triplet, huber, ms_like, giou."""

import tensorflow as tf


def focal(labels: tf.Tensor, logits: tf.Tensor, gamma=2.0, alpha=0.25):
    p = tf.sigmoid(logits)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    p_t = labels * p + (1.0 - labels) * (1.0 - p)
    weight = labels * alpha + (1.0 - labels) * (1.0 - alpha)
    return tf.reduce_mean(weight * tf.pow(1.0 - p_t, gamma) * entropy)


def contrastive(first: tf.Tensor, second: tf.Tensor, temperature=0.1):
    first, second = tf.math.l2_normalize(first, axis=1), tf.math.l2_normalize(second, axis=1)
    z = tf.concat([first, second], axis=0)
    similar = tf.matmul(z, z, transpose_b=True) / temperature
    count = tf.shape(first)[0]
    similar -= 1e9 * tf.eye(2 * count)
    labels = tf.concat([tf.range(count, 2 * count), tf.range(count)], axis=0)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=similar))


def triplet(anchor: tf.Tensor, positive: tf.Tensor, negative: tf.Tensor, margin=1.0):
    near = tf.reduce_sum(tf.square(anchor - positive), axis=-1)
    far = tf.reduce_sum(tf.square(anchor - negative), axis=-1)
    return tf.reduce_mean(tf.maximum(near - far + margin, 0.0))


def huber(y_true: tf.Tensor, y_pred: tf.Tensor, delta=1.0):
    error = tf.abs(y_true - y_pred)
    small = tf.minimum(error, delta)
    return tf.reduce_mean(0.5 * small**2 + delta * (error - small))


def ms_like(a: tf.Tensor, b: tf.Tensor):
    """A structural similarity of images."""
    c1, c2 = 0.01**2, 0.03**2
    mu_a, mu_b = tf.nn.avg_pool2d(a, 7, 1, "VALID"), tf.nn.avg_pool2d(b, 7, 1, "VALID")
    var_a = tf.nn.avg_pool2d(a * a, 7, 1, "VALID") - mu_a**2
    var_b = tf.nn.avg_pool2d(b * b, 7, 1, "VALID") - mu_b**2
    cov = tf.nn.avg_pool2d(a * b, 7, 1, "VALID") - mu_a * mu_b
    top = (2 * mu_a * mu_b + c1) * (2 * cov + c2)
    return tf.reduce_mean(top / ((mu_a**2 + mu_b**2 + c1) * (var_a + var_b + c2)))


def giou(a: tf.Tensor, b: tf.Tensor):
    ax1, ay1, ax2, ay2 = tf.unstack(a, 4, axis=-1)
    bx1, by1, bx2, by2 = tf.unstack(b, 4, axis=-1)
    area_a, area_b = (ax2 - ax1) * (ay2 - ay1), (bx2 - bx1) * (by2 - by1)
    width = tf.maximum(0.0, tf.minimum(ax2, bx2) - tf.maximum(ax1, bx1))
    height = tf.maximum(0.0, tf.minimum(ay2, by2) - tf.maximum(ay1, by1))
    union = area_a + area_b - width * height
    iou = tf.math.divide_no_nan(width * height, union)
    hull = (tf.maximum(ax2, bx2) - tf.minimum(ax1, bx1)) * (tf.maximum(ay2, by2) - tf.minimum(ay1, by1))
    return 1.0 - (iou - tf.math.divide_no_nan(hull - union, hull))


if __name__ == "__main__":
    for _ in range(100):
        labels = tf.cast(tf.random.uniform([64, 20]) > 0.8, tf.float32)
        focal(labels, tf.random.normal([64, 20]))
        contrastive(tf.random.normal([64, 128]), tf.random.normal([64, 128]))
        triplet(tf.random.normal([64, 128]), tf.random.normal([64, 128]), tf.random.normal([64, 128]))
        huber(tf.random.normal([64]), tf.random.normal([64]))
        ms_like(tf.random.uniform([4, 64, 64, 3]), tf.random.uniform([4, 64, 64, 3]))
        giou(tf.random.uniform([200, 4]), tf.random.uniform([200, 4]))
