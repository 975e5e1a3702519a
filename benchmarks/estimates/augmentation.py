"""What is done to images before training. Timed: normalize, jitter, cutout, mixup, grayscale, resize_and_crop."""

import tensorflow as tf


def normalize(image):
    image = tf.cast(image, tf.float32) / 255.0
    return (image - tf.constant([0.485, 0.456, 0.406])) / tf.constant([0.229, 0.224, 0.225])


def jitter(image):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.2)
    image = tf.image.random_contrast(image, 0.8, 1.2)
    return tf.clip_by_value(image, 0.0, 1.0)


def cutout(image, size):
    height, width = tf.shape(image)[0], tf.shape(image)[1]
    top = tf.random.uniform([], 0, height - size, dtype=tf.int32)
    left = tf.random.uniform([], 0, width - size, dtype=tf.int32)
    rows = tf.logical_and(tf.range(height) >= top, tf.range(height) < top + size)
    columns = tf.logical_and(tf.range(width) >= left, tf.range(width) < left + size)
    hole = tf.logical_and(rows[:, tf.newaxis], columns[tf.newaxis, :])
    return tf.where(hole[..., tf.newaxis], tf.zeros_like(image), image)


def mixup(images, labels, alpha):
    weight = tf.random.gamma([tf.shape(images)[0]], alpha)
    other = tf.random.gamma([tf.shape(images)[0]], alpha)
    share = weight / (weight + other)
    index = tf.random.shuffle(tf.range(tf.shape(images)[0]))
    wide = tf.reshape(share, [-1, 1, 1, 1])
    mixed = images * wide + tf.gather(images, index) * (1.0 - wide)
    share = share[:, tf.newaxis]
    return mixed, labels * share + tf.gather(labels, index) * (1.0 - share)


def grayscale(image):
    weights = tf.constant([0.299, 0.587, 0.114])
    return tf.reduce_sum(image * weights, axis=-1, keepdims=True)


def resize_and_crop(image, size):
    image = tf.image.resize(image, [size + 16, size + 16])
    image = tf.image.random_crop(image, [size, size, 3])
    image = tf.image.per_image_standardization(image)
    return tf.image.rot90(image)


if __name__ == "__main__":
    size = 96
    for _ in range(100):
        raw = tf.cast(tf.random.uniform([128, 128, 3], maxval=256, dtype=tf.int32), tf.uint8)
        image = tf.random.uniform([128, 128, 3])
        normalize(raw)
        jitter(image)
        cutout(image, tf.constant(32))
        grayscale(image)
        resize_and_crop(image, size)
        mixup(tf.random.uniform([16, 64, 64, 3]), tf.random.uniform([16, 10]), tf.constant(0.2))
