"""Messages along the edges of a graph. Timed: propagate, GraphNet.__call__, attention_pool, train_step."""

import tensorflow as tf


def propagate(nodes, senders, receivers, count):
    messages = tf.gather(nodes, senders)
    sums = tf.math.unsorted_segment_sum(messages, receivers, count)
    degree = tf.math.unsorted_segment_sum(tf.ones_like(receivers, tf.float32), receivers, count)
    return sums / tf.maximum(degree, 1.0)[:, tf.newaxis]


def attention_pool(nodes, gate):
    weights = tf.nn.softmax(tf.tensordot(nodes, gate, 1), axis=0)
    return tf.reduce_sum(nodes * weights[:, tf.newaxis], axis=0)


class GraphNet(tf.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = []
        for inputs, outputs in zip(sizes[:-1], sizes[1:]):
            own = tf.Variable(tf.random.normal([inputs, outputs], stddev=0.1))
            other = tf.Variable(tf.random.normal([inputs, outputs], stddev=0.1))
            self.layers.append((own, other))
        self.gate = tf.Variable(tf.random.normal([sizes[-1]]))

    def __call__(self, nodes, senders, receivers):
        count = tf.shape(nodes)[0]
        for own, other in self.layers:
            around = propagate(nodes, senders, receivers, count)
            nodes = tf.nn.relu(tf.matmul(nodes, own) + tf.matmul(around, other))
        return attention_pool(nodes, self.gate)


graph_net = GraphNet([16, 32, 32, 8])
optimizer = tf.keras.optimizers.Adam(1e-3)


def train_step(nodes, senders, receivers, label):
    with tf.GradientTape() as tape:
        logits = graph_net(nodes, senders, receivers)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)
    grads = tape.gradient(loss, graph_net.trainable_variables)
    optimizer.apply_gradients(zip(grads, graph_net.trainable_variables))
    return loss


if __name__ == "__main__":
    for _ in range(200):
        senders = tf.random.uniform([400], maxval=100, dtype=tf.int32)
        receivers = tf.random.uniform([400], maxval=100, dtype=tf.int32)
        train_step(tf.random.normal([100, 16]), senders, receivers, tf.constant(3))
