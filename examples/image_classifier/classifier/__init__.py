"""A small image classifier with a custom training loop: the bundled example of `hybridize`."""

from .model import Classifier
from .train import Trainer

__all__ = ["Classifier", "Trainer"]
