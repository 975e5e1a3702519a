"""Factors of users and items. Timed: score, regularized_loss, fit_batch."""

import tensorflow as tf


class Factors(tf.Module):
    def __init__(self, users, items, rank):
        super().__init__()
        self.users = tf.Variable(tf.random.normal([users, rank], stddev=0.1))
        self.items = tf.Variable(tf.random.normal([items, rank], stddev=0.1))
        self.user_bias = tf.Variable(tf.zeros([users]))
        self.item_bias = tf.Variable(tf.zeros([items]))


factors = Factors(500, 800, 16)
optimizer = tf.keras.optimizers.Adam(0.01)


def score(users, items):
    u = tf.gather(factors.users, users)
    i = tf.gather(factors.items, items)
    return tf.reduce_sum(u * i, 1) + tf.gather(factors.user_bias, users) + tf.gather(factors.item_bias, items)


def regularized_loss(users, items, ratings):
    error = tf.reduce_mean((score(users, items) - ratings) ** 2)
    return error + 1e-4 * (tf.nn.l2_loss(factors.users) + tf.nn.l2_loss(factors.items))


def fit_batch(users, items, ratings):
    with tf.GradientTape() as tape:
        loss = regularized_loss(users, items, ratings)
    grads = tape.gradient(loss, factors.trainable_variables)
    optimizer.apply_gradients(zip(grads, factors.trainable_variables))
    return loss


if __name__ == "__main__":
    for _ in range(400):
        users = tf.random.uniform([256], maxval=500, dtype=tf.int32)
        items = tf.random.uniform([256], maxval=800, dtype=tf.int32)
        fit_batch(users, items, tf.random.uniform([256]))
