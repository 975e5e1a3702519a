"""Convolutions on small grey images. Timed: ConvNet.call, train_step."""

import tensorflow as tf


class ConvNet(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Conv2D(32, 5, activation="relu")
        self.pool = tf.keras.layers.MaxPool2D(2)
        self.second = tf.keras.layers.Conv2D(64, 3, activation="relu")
        self.flatten = tf.keras.layers.Flatten()
        self.hidden = tf.keras.layers.Dense(256)
        self.out = tf.keras.layers.Dense(10)

    def call(self, images):
        x = self.pool(self.first(images))
        x = self.pool(self.second(x))
        return self.out(self.hidden(self.flatten(x)))


net = ConvNet()
optimizer = tf.keras.optimizers.Adam(1e-3)


def train_step(images, labels):
    with tf.GradientTape() as tape:
        logits = net(images)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))
    return loss


if __name__ == "__main__":
    for _ in range(500):
        images = tf.random.uniform([64, 28, 28, 1])
        labels = tf.random.uniform([64], maxval=10, dtype=tf.int64)
        train_step(images, labels)
