"""Problems of TensorFlow itself (HY4xx)."""
