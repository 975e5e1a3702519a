"""Turns in space. Timed: quaternion_product, rotate, to_matrix, forward_kinematics, slerp."""

import tensorflow as tf


def quaternion_product(a, b):
    w1, x1, y1, z1 = tf.unstack(a, axis=-1)
    w2, x2, y2, z2 = tf.unstack(b, axis=-1)
    return tf.stack(
        [
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        ],
        axis=-1,
    )


def rotate(points, q):
    conjugate = q * tf.constant([1.0, -1.0, -1.0, -1.0])
    padded = tf.concat([tf.zeros_like(points[..., :1]), points], axis=-1)
    return quaternion_product(quaternion_product(q, padded), conjugate)[..., 1:]


def to_matrix(q):
    w, x, y, z = tf.unstack(q, axis=-1)
    rows = [
        1 - 2 * (y * y + z * z),
        2 * (x * y - w * z),
        2 * (x * z + w * y),
        2 * (x * y + w * z),
        1 - 2 * (x * x + z * z),
        2 * (y * z - w * x),
        2 * (x * z - w * y),
        2 * (y * z + w * x),
        1 - 2 * (x * x + y * y),
    ]
    return tf.reshape(tf.stack(rows, axis=-1), [-1, 3, 3])


def forward_kinematics(angles, lengths):
    position = tf.zeros([tf.shape(angles)[0], 2])
    total = tf.zeros([tf.shape(angles)[0]])
    for i in range(6):
        total += angles[:, i]
        position += lengths[i] * tf.stack([tf.cos(total), tf.sin(total)], axis=-1)
    return position


def slerp(a, b, t):
    dot = tf.reduce_sum(a * b, axis=-1, keepdims=True)
    angle = tf.acos(tf.clip_by_value(dot, -1.0, 1.0))
    return (tf.sin((1.0 - t) * angle) * a + tf.sin(t * angle) * b) / (tf.sin(angle) + 1e-7)


if __name__ == "__main__":
    for _ in range(100):
        q = tf.math.l2_normalize(tf.random.normal([50, 4]), axis=-1)
        p = tf.math.l2_normalize(tf.random.normal([50, 4]), axis=-1)
        rotate(tf.random.normal([50, 3]), slerp(q, p, tf.constant(0.3)))
        to_matrix(q)
        forward_kinematics(tf.random.normal([50, 6]), tf.ones([6]))
