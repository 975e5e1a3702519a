"""A recurrent cell written out, with a Python loop over the steps. Timed: GatedCell.step, GatedCell.unroll, train."""

import tensorflow as tf


class GatedCell(tf.Module):
    def __init__(self, inputs, units):
        super().__init__()
        self.units = units
        self.wz = tf.Variable(tf.random.normal([inputs + units, units], stddev=0.1))
        self.wr = tf.Variable(tf.random.normal([inputs + units, units], stddev=0.1))
        self.wh = tf.Variable(tf.random.normal([inputs + units, units], stddev=0.1))

    def step(self, x, h):
        both = tf.concat([x, h], axis=1)
        z = tf.sigmoid(tf.matmul(both, self.wz))
        r = tf.sigmoid(tf.matmul(both, self.wr))
        candidate = tf.tanh(tf.matmul(tf.concat([x, r * h], axis=1), self.wh))
        return (1.0 - z) * h + z * candidate

    def unroll(self, sequence):
        h = tf.zeros([sequence.shape[0], self.units])
        for t in range(sequence.shape[1]):
            h = self.step(sequence[:, t], h)
        return h


cell = GatedCell(8, 32)
readout = tf.Variable(tf.random.normal([32, 1]))
optimizer = tf.keras.optimizers.SGD(0.01)


def train(sequence, target):
    variables = [*cell.trainable_variables, readout]
    with tf.GradientTape() as tape:
        predicted = tf.matmul(cell.unroll(sequence), readout)
        loss = tf.reduce_mean(tf.square(predicted - target))
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


if __name__ == "__main__":
    for _ in range(300):
        train(tf.random.normal([16, 24, 8]), tf.random.normal([16, 1]))
