"""Strings before they become numbers. Timed: standardize, to_ids, pad_tokens, hash_features, mask_tokens."""

import tensorflow as tf

words = tf.constant(["a", "the", "model", "data", "graph", "loss", "mean", "step"])
table = tf.lookup.StaticVocabularyTable(
    tf.lookup.KeyValueTensorInitializer(words, tf.range(8, dtype=tf.int64)), num_oov_buckets=1
)


def standardize(text):
    text = tf.strings.lower(text)
    text = tf.strings.regex_replace(text, "<br />", " ")
    text = tf.strings.regex_replace(text, "[^a-z ]", "")
    return tf.strings.strip(text)


def to_ids(text):
    tokens = tf.strings.split(standardize(text))
    return table.lookup(tokens.values)


def pad_tokens(ids, length):
    ids = ids[:length]
    missing = length - tf.shape(ids)[0]
    mask = tf.concat([tf.ones([tf.shape(ids)[0]], tf.int32), tf.zeros([missing], tf.int32)], axis=0)
    return tf.pad(ids, [[0, missing]]), mask


def hash_features(text):
    buckets = tf.strings.to_hash_bucket_fast(tf.strings.split(text).values, 1000)
    counts = tf.math.bincount(tf.cast(buckets, tf.int32), minlength=1000, maxlength=1000, dtype=tf.float32)
    return counts / (tf.norm(counts) + 1e-6)


def mask_tokens(ids, rate):
    chosen = tf.random.uniform(tf.shape(ids)) < rate
    labels = tf.where(chosen, ids, -100 * tf.ones_like(ids))
    replaced = tf.logical_and(chosen, tf.random.uniform(tf.shape(ids)) < 0.8)
    ids = tf.where(replaced, tf.zeros_like(ids), ids)
    noise = tf.random.uniform(tf.shape(ids), maxval=8, dtype=tf.int32)
    swapped = tf.logical_and(tf.logical_and(chosen, ~replaced), tf.random.uniform(tf.shape(ids)) < 0.5)
    return tf.where(swapped, noise, ids), labels


if __name__ == "__main__":
    lines = tf.constant(["The loss of the model. <br /> A mean step, a graph!"] * 32)
    for _ in range(200):
        ids = tf.cast(to_ids(lines), tf.int32)
        pad_tokens(ids[:20], tf.constant(64))
        hash_features(lines)
        mask_tokens(tf.reshape(ids[:320], [32, -1]), tf.constant(0.15))
