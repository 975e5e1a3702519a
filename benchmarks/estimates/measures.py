"""Metrics of models. Timed: confusion, f1_score, mean_iou, psnr, top_k_accuracy, auc_like, correlation."""

import tensorflow as tf


def confusion(labels, predicted, classes):
    return tf.math.confusion_matrix(labels, predicted, num_classes=classes)


def f1_score(labels, scores):
    predicted = tf.cast(scores > 0.5, tf.float32)
    hits = tf.reduce_sum(predicted * labels, axis=0)
    precision = hits / (tf.reduce_sum(predicted, axis=0) + 1e-7)
    recall = hits / (tf.reduce_sum(labels, axis=0) + 1e-7)
    return tf.reduce_mean(2.0 * precision * recall / (precision + recall + 1e-7))


def mean_iou(labels, predicted):
    values = []
    for k in range(21):
        a, b = tf.equal(labels, k), tf.equal(predicted, k)
        both = tf.reduce_sum(tf.cast(tf.logical_and(a, b), tf.float32))
        either = tf.reduce_sum(tf.cast(tf.logical_or(a, b), tf.float32))
        values.append(tf.math.divide_no_nan(both, either))
    return tf.reduce_mean(tf.stack(values))


def psnr(a, b):
    error = tf.reduce_mean(tf.math.squared_difference(a, b), axis=[1, 2, 3])
    return -10.0 * tf.math.log(error) / tf.math.log(10.0)


def top_k_accuracy(labels, logits):
    return tf.reduce_mean(tf.cast(tf.math.in_top_k(labels, logits, 5), tf.float32))


def auc_like(labels, scores):
    order = tf.argsort(scores, direction="DESCENDING")
    sorted_labels = tf.gather(labels, order)
    positives, negatives = tf.cumsum(sorted_labels), tf.cumsum(1.0 - sorted_labels)
    tpr, fpr = positives / positives[-1], negatives / negatives[-1]
    return tf.reduce_sum((fpr[1:] - fpr[:-1]) * (tpr[1:] + tpr[:-1])) / 2.0


def correlation(x, y):
    x, y = x - tf.reduce_mean(x), y - tf.reduce_mean(y)
    return tf.reduce_sum(x * y) / tf.sqrt(tf.reduce_sum(x * x) * tf.reduce_sum(y * y))


if __name__ == "__main__":
    for _ in range(50):
        labels = tf.random.uniform([500], maxval=10, dtype=tf.int32)
        confusion(labels, tf.random.uniform([500], maxval=10, dtype=tf.int32), 10)
        many = tf.cast(tf.random.uniform([256, 14]) > 0.5, tf.float32)
        f1_score(many, tf.random.uniform([256, 14]))
        pixels = tf.random.uniform([2, 128, 128], maxval=21, dtype=tf.int32)
        mean_iou(pixels, tf.random.uniform([2, 128, 128], maxval=21, dtype=tf.int32))
        psnr(tf.random.uniform([8, 64, 64, 3]), tf.random.uniform([8, 64, 64, 3]))
        top_k_accuracy(labels, tf.random.normal([500, 100]))
        auc_like(tf.round(tf.random.uniform([1000])), tf.random.uniform([1000]))
        correlation(tf.random.normal([300]), tf.random.normal([300]))
