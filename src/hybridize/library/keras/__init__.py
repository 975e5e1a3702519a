"""Models of Keras 2 and 3."""
