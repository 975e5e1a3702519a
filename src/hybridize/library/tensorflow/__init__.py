"""Models of TensorFlow."""
