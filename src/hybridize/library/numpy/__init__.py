"""Models of NumPy; its array functions serve `tf.experimental.numpy` as well."""
