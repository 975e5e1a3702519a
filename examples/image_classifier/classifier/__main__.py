"""`python -m classifier` trains on synthetic images and prints what came out."""

import random

import tensorflow as tf

from . import Classifier, Trainer
from .augment import shrink, strips
from .data import CLASSES, class_names, make_dataset
from .metrics import confusion
from .model import describe


def main():
    random.seed(1)
    tf.keras.utils.set_random_seed(1)
    train = make_dataset(count=384, batch=32, seed=1)
    test = make_dataset(count=128, batch=32, seed=2)
    model = Classifier(CLASSES)
    print(describe(model))

    trainer = Trainer(model, rate=0.05)
    trainer.fit(train, test, epochs=4)
    print("last losses:", *trainer.history.last(5))

    images, labels = next(iter(test))
    print(", ".join(class_names()))
    print(confusion(labels, model(images)))
    small = shrink(images, 4)
    print("brightest row:", max(float(tf.reduce_mean(strip)) for strip in strips(small)) > 0.0)


if __name__ == "__main__":
    main()
