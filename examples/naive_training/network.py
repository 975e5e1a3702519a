"""A network of dense layers with residual connections, made by hand."""

import tensorflow as tf


class Network(tf.Module):
    """From two numbers to one."""

    def __init__(self, width, depth):
        super().__init__()
        tf.random.set_seed(3)
        sizes = [2, *[width] * depth, 1]
        self.kernels = [tf.Variable(tf.random.normal([a, b]) / a**0.5) for a, b in zip(sizes, sizes[1:])]
        self.biases = [tf.Variable(tf.zeros([b])) for b in sizes[1:]]
        self.weights = self.kernels + self.biases
        self.calls = 0

    def __call__(self, x):
        """The prediction for a batch."""
        self.calls += 1
        self.rows = x.shape[0]
        for kernel, bias in zip(self.kernels[:-1], self.biases[:-1]):
            h = tf.nn.relu(tf.matmul(x, kernel) + bias)
            x = h + x if h.shape[1] == x.shape[1] else h
        return tf.reshape(tf.matmul(x, self.kernels[-1]) + self.biases[-1], [self.rows, 1])

    def penalty(self):
        """Keeps weights small."""
        return 1e-4 * tf.add_n([tf.reduce_sum(tf.square(kernel)) for kernel in self.kernels])
