"""Clusters of points. Timed: pairwise, assign_points, update_centres, kmeans, silhouette_like."""

import tensorflow as tf


def pairwise(a, b):
    return tf.reduce_sum(tf.square(a[:, tf.newaxis, :] - b[tf.newaxis, :, :]), axis=-1)


def assign_points(points, centres):
    return tf.argmin(pairwise(points, centres), axis=1, output_type=tf.int32)


def update_centres(points, labels, count):
    return tf.math.unsorted_segment_mean(points, labels, count)


def kmeans(points, centres, count):
    for _ in range(15):
        labels = assign_points(points, centres)
        centres = update_centres(points, labels, count)
    return centres


def silhouette_like(points, labels):
    distance = tf.sqrt(pairwise(points, points) + 1e-9)
    same = tf.cast(tf.equal(labels[:, None], labels[None, :]), tf.float32)
    inside = tf.reduce_sum(distance * same, 1) / tf.maximum(tf.reduce_sum(same, 1) - 1.0, 1.0)
    outside = tf.reduce_sum(distance * (1.0 - same), 1) / tf.maximum(tf.reduce_sum(1.0 - same, 1), 1.0)
    return tf.reduce_mean((outside - inside) / tf.maximum(inside, outside))


if __name__ == "__main__":
    count = tf.constant(5)
    for _ in range(50):
        points = tf.random.normal([600, 4])
        centres = kmeans(points, points[:5], count)
        silhouette_like(points, assign_points(points, centres))
