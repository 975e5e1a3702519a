"""An encoder and decoder of images, with a loss of overlaps. Timed: dice_loss, UNet.call, Trainer.step."""

import tensorflow as tf


def dice_loss(y_true, y_pred, smooth=1.0):
    axes = [1, 2, 3]
    intersection = tf.reduce_sum(y_true * y_pred, axis=axes)
    union = tf.reduce_sum(y_true, axis=axes) + tf.reduce_sum(y_pred, axis=axes)
    return 1.0 - tf.reduce_mean((2.0 * intersection + smooth) / (union + smooth))


def block(filters):
    return tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(filters, 3, padding="same", activation="relu"),
            tf.keras.layers.Conv2D(filters, 3, padding="same", activation="relu"),
        ]
    )


class UNet(tf.keras.Model):
    def __init__(self, width=16):
        super().__init__()
        self.down1 = block(width)
        self.down2 = block(2 * width)
        self.bottom = block(4 * width)
        self.up2 = tf.keras.layers.Conv2DTranspose(2 * width, 2, strides=2)
        self.right2 = block(2 * width)
        self.up1 = tf.keras.layers.Conv2DTranspose(width, 2, strides=2)
        self.right1 = block(width)
        self.out = tf.keras.layers.Conv2D(1, 1, activation="sigmoid")
        self.pool = tf.keras.layers.MaxPool2D()

    def call(self, inputs, training=False):
        a = self.down1(inputs)
        b = self.down2(self.pool(a))
        c = self.bottom(self.pool(b))
        x = self.right2(tf.concat([self.up2(c), b], axis=-1))
        x = self.right1(tf.concat([self.up1(x), a], axis=-1))
        return self.out(x)


class Trainer:
    def __init__(self, model, rate):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(rate)

    def step(self, images, masks):
        with tf.GradientTape() as tape:
            predicted = self.model(images)
            loss = dice_loss(masks, predicted)
        weights = self.model.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss


if __name__ == "__main__":
    trainer = Trainer(UNet(), 1e-3)
    for _ in range(100):
        images = tf.random.uniform([4, 96, 96, 3])
        masks = tf.cast(tf.random.uniform([4, 96, 96, 1]) > 0.5, tf.float32)
        trainer.step(images, masks)
