"""The training loop and the evaluation."""

import tensorflow as tf

from . import losses, metrics
from .augment import Centering, fade_in, jitter, soften
from .logs import History, show_batch, show_epoch

DECAY = 1e-4


class Trainer:
    """Trains a model, one step after the other, without `fit`."""

    def __init__(self, model, rate):
        self.model = model
        self.optimizer = tf.keras.optimizers.SGD(rate, momentum=0.9)
        self.center = Centering()
        self.history = History()

    def compute_loss(self, images, labels):
        scores = self.model(images, training=True)
        penalty = tf.add_n([tf.nn.l2_loss(weight) for weight in self.model.trainable_variables])
        return losses.cross_entropy(labels, scores) + DECAY * penalty

    def train_step(self, images, labels):
        with tf.GradientTape() as tape:
            loss = self.compute_loss(images, labels)
        variables = self.model.trainable_variables
        gradients = tape.gradient(loss, variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    @tf.function
    def test_step(self, images, labels):
        scores = self.model(images, training=False)
        return losses.cross_entropy(labels, scores), metrics.accuracy(labels, scores)

    def logged_step(self, images, labels):
        loss = self.train_step(images, labels)
        self.history.record(loss)
        return loss

    def train_epoch(self, dataset, epoch):
        mean = metrics.RunningMean()
        for number, (images, labels) in enumerate(dataset):
            if epoch == 0 and number == 0:
                show_batch(images, labels)
            images = self.center(fade_in(jitter(soften(images)), epoch))
            mean.add(self.logged_step(images, labels))
        return mean.result()

    def evaluate(self, dataset):
        loss, accuracy = metrics.RunningMean(), metrics.RunningMean()
        for images, labels in dataset:
            batch_loss, batch_accuracy = self.test_step(images, labels)
            loss.add(batch_loss)
            accuracy.add(batch_accuracy)
        return loss.result(), accuracy.result()

    def fit(self, train, test, epochs):
        for epoch in range(epochs):
            self.train_epoch(train, epoch)
            loss, accuracy = self.evaluate(test)
            show_epoch(epoch, loss, accuracy)
