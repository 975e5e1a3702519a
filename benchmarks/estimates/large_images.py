"""Convolutions on images of some size. Timed: Backbone.call, train_on, blur, separable."""

import tensorflow as tf


class Backbone(tf.keras.Model):
    def __init__(self, widths=(32, 64, 96)):
        super().__init__()
        self.convs = [tf.keras.layers.Conv2D(w, 3, padding="same", activation="relu") for w in widths]
        self.norms = [tf.keras.layers.BatchNormalization() for _ in widths]
        self.head = tf.keras.layers.Dense(20)

    def call(self, x, training=False):
        for conv, norm in zip(self.convs, self.norms):
            x = tf.nn.max_pool2d(norm(conv(x), training=training), 2, 2, "SAME")
        return self.head(tf.reduce_mean(x, axis=[1, 2]))


def train_on(model, optimizer, images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    weights = model.trainable_weights
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


def blur(images, kernel):
    weights = tf.tile(kernel[:, :, None, None], [1, 1, 3, 1])
    return tf.nn.depthwise_conv2d(images, weights, [1, 1, 1, 1], "SAME")


def separable(images, depthwise, pointwise):
    x = tf.nn.separable_conv2d(images, depthwise, pointwise, [1, 1, 1, 1], "SAME")
    return tf.nn.relu6(x)


if __name__ == "__main__":
    backbone, adam = Backbone(), tf.keras.optimizers.Adam()
    depthwise, pointwise = tf.random.normal([3, 3, 3, 4]), tf.random.normal([1, 1, 12, 24])
    for _ in range(20):
        images = tf.random.uniform([4, 128, 128, 3])
        labels = tf.one_hot(tf.random.uniform([4], maxval=20, dtype=tf.int32), 20)
        train_on(backbone, adam, blur(images, tf.ones([5, 5]) / 25.0), labels)
        separable(images, depthwise, pointwise)
