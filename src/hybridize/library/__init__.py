"""What code outside the project does: TensorFlow, Keras, NumPy, Python built-ins, the standard library; as data."""
