"""Synthetic images: one quarter of each is brighter than the rest, and which one is the label."""

import tensorflow as tf

SIZE = 16
CLASSES = 4


def class_names():
    for row in ("upper", "lower"):
        for column in ("left", "right"):
            yield f"{row} {column}"


def quarter_mask(labels):
    row = tf.one_hot(labels // 2, 2)
    column = tf.one_hot(labels % 2, 2)
    quarters = row[:, :, tf.newaxis] * column[:, tf.newaxis, :]
    return tf.repeat(tf.repeat(quarters, SIZE // 2, axis=1), SIZE // 2, axis=2)


def make_images(count, seed):
    labels = tf.random.stateless_uniform([count], [seed, 0], maxval=CLASSES, dtype=tf.int32)
    noise = tf.random.stateless_uniform([count, SIZE, SIZE], [seed, 1])
    images = noise + 0.6 * quarter_mask(labels)
    return images[..., tf.newaxis], labels


def standardize(image, label):
    mean = tf.reduce_mean(image)
    deviation = tf.math.reduce_std(image)
    return (image - mean) / (deviation + 1e-6), label


def make_dataset(count, batch, seed):
    images, labels = make_images(count, seed)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.map(standardize).shuffle(count, seed=seed)
    return dataset.batch(batch, drop_remainder=True)
