"""Q-learning with a target network. Timed: QNetwork.call, Agent.update, Agent.soft_update, Agent.greedy."""

import tensorflow as tf


class QNetwork(tf.keras.Model):
    def __init__(self, actions):
        super().__init__()
        self.a = tf.keras.layers.Dense(64, activation="relu")
        self.b = tf.keras.layers.Dense(64, activation="relu")
        self.q = tf.keras.layers.Dense(actions)

    def call(self, states):
        return self.q(self.b(self.a(states)))


class Agent:
    def __init__(self, actions, gamma=0.99, tau=0.005):
        self.online, self.target = QNetwork(actions), QNetwork(actions)
        self.actions, self.gamma, self.tau = actions, gamma, tau
        self.optimizer = tf.keras.optimizers.Adam(1e-3)

    def greedy(self, state):
        return tf.argmax(self.online(state[tf.newaxis]), axis=-1)[0]

    def update(self, states, actions, rewards, following, done):
        best = tf.reduce_max(self.target(following), axis=1)
        wanted = rewards + self.gamma * best * (1.0 - done)
        with tf.GradientTape() as tape:
            chosen = tf.reduce_sum(self.online(states) * tf.one_hot(actions, self.actions), axis=1)
            error = wanted - chosen
            loss = tf.reduce_mean(tf.where(tf.abs(error) < 1.0, 0.5 * error**2, tf.abs(error) - 0.5))
        weights = self.online.trainable_variables
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, weights), 10.0)
        self.optimizer.apply_gradients(zip(gradients, weights))
        return loss

    def soft_update(self):
        for a, b in zip(self.target.trainable_variables, self.online.trainable_variables):
            a.assign((1.0 - self.tau) * a + self.tau * b)


if __name__ == "__main__":
    agent = Agent(4)
    for _ in range(500):
        agent.greedy(tf.random.normal([8]))
        states, following = tf.random.normal([32, 8]), tf.random.normal([32, 8])
        actions = tf.random.uniform([32], maxval=4, dtype=tf.int32)
        agent.update(states, actions, tf.random.normal([32]), following, tf.zeros([32]))
        agent.soft_update()
