"""A residual network whose stages come from a table. Timed: ResNet.call, train_step."""

import tensorflow as tf

STAGES = [(32, 2), (64, 2), (128, 2)]


class Residual(tf.keras.layers.Layer):
    def __init__(self, filters, strides=1):
        super().__init__()
        self.conv1 = tf.keras.layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)
        self.norm1 = tf.keras.layers.BatchNormalization()
        self.conv2 = tf.keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)
        self.norm2 = tf.keras.layers.BatchNormalization()
        self.skip = tf.keras.layers.Conv2D(filters, 1, strides=strides)

    def call(self, x, training=False):
        y = tf.nn.relu(self.norm1(self.conv1(x), training=training))
        y = self.norm2(self.conv2(y), training=training)
        return tf.nn.relu(y + self.skip(x))


class ResNet(tf.keras.Model):
    def __init__(self, stages, classes):
        super().__init__()
        self.stem = tf.keras.layers.Conv2D(32, 3, padding="same")
        self.blocks = []
        for filters, count in stages:
            for i in range(count):
                self.blocks.append(Residual(filters, strides=2 if i == 0 else 1))
        self.pool = tf.keras.layers.GlobalAveragePooling2D()
        self.head = tf.keras.layers.Dense(classes)

    def call(self, x, training=False):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(self.pool(x))


model = ResNet(STAGES, 10)
optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
criterion = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = criterion(labels, model(images, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


if __name__ == "__main__":
    images = tf.random.normal([64, 32, 32, 3])
    labels = tf.random.uniform([64], maxval=10, dtype=tf.int32)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(16).repeat(100)
    for x, y in dataset:
        train_step(x, y)
