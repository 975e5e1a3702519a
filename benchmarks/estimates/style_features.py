"""Textures by the products of features. Timed: gram, features, style_loss, total_variation, optimize."""

import tensorflow as tf

kernels = [
    tf.Variable(tf.random.normal(shape, stddev=0.1)) for shape in ([3, 3, 3, 16], [3, 3, 16, 32], [3, 3, 32, 32])
]


def gram(x):
    result = tf.linalg.einsum("bijc,bijd->bcd", x, x)
    size = tf.cast(tf.shape(x)[1] * tf.shape(x)[2], tf.float32)
    return result / size


def features(image):
    found = []
    for kernel in kernels:
        image = tf.nn.relu(tf.nn.conv2d(image, kernel, strides=1, padding="SAME"))
        found.append(image)
        image = tf.nn.max_pool2d(image, 2, 2, "SAME")
    return found


def style_loss(image, wanted):
    return tf.add_n([tf.reduce_mean((gram(f) - w) ** 2) for f, w in zip(features(image), wanted)])


def total_variation(image):
    across = image[:, :, 1:, :] - image[:, :, :-1, :]
    down = image[:, 1:, :, :] - image[:, :-1, :, :]
    return tf.reduce_sum(tf.abs(across)) + tf.reduce_sum(tf.abs(down))


def optimize(image, wanted, rate):
    with tf.GradientTape() as tape:
        tape.watch(image)
        loss = style_loss(image, wanted) + 1e-4 * total_variation(image)
    return tf.clip_by_value(image - rate * tape.gradient(loss, image), 0.0, 1.0)


if __name__ == "__main__":
    wanted = [gram(f) for f in features(tf.random.uniform([1, 128, 128, 3]))]
    image = tf.random.uniform([1, 128, 128, 3])
    for _ in range(100):
        image = optimize(image, wanted, tf.constant(0.02))
