"""Soft actor and two critics. Timed: Policy.sample, update_critics, update_actor."""

import math

import tensorflow as tf


def mlp(sizes):
    layers = [tf.keras.layers.Dense(size, activation="relu") for size in sizes[:-1]]
    return tf.keras.Sequential([*layers, tf.keras.layers.Dense(sizes[-1])])


class Policy(tf.Module):
    def __init__(self, actions):
        super().__init__()
        self.net = mlp([128, 128, 2 * actions])

    def sample(self, states):
        mean, log_std = tf.split(self.net(states), 2, axis=-1)
        log_std = tf.clip_by_value(log_std, -20.0, 2.0)
        noise = tf.random.normal(tf.shape(mean))
        raw = mean + tf.exp(log_std) * noise
        actions = tf.tanh(raw)
        log_prob = -0.5 * noise**2 - log_std - 0.5 * math.log(2 * math.pi)
        log_prob -= 2.0 * (math.log(2.0) - raw - tf.nn.softplus(-2.0 * raw))
        return actions, tf.reduce_sum(log_prob, axis=-1)


policy = Policy(3)
critics = [mlp([128, 128, 1]), mlp([128, 128, 1])]
targets = [mlp([128, 128, 1]), mlp([128, 128, 1])]
critic_optimizer, actor_optimizer = tf.keras.optimizers.Adam(3e-4), tf.keras.optimizers.Adam(3e-4)
alpha = tf.Variable(0.2)


def update_critics(states, actions, rewards, following):
    next_actions, log_prob = policy.sample(following)
    both = tf.concat([following, next_actions], axis=-1)
    value = tf.minimum(targets[0](both), targets[1](both))[:, 0] - alpha * log_prob
    wanted = tf.stop_gradient(rewards + 0.99 * value)
    inputs = tf.concat([states, actions], axis=-1)
    with tf.GradientTape() as tape:
        loss = tf.add_n([tf.reduce_mean((critic(inputs)[:, 0] - wanted) ** 2) for critic in critics])
    variables = [v for critic in critics for v in critic.trainable_variables]
    critic_optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


def update_actor(states):
    with tf.GradientTape() as tape:
        actions, log_prob = policy.sample(states)
        inputs = tf.concat([states, actions], axis=-1)
        value = tf.minimum(critics[0](inputs), critics[1](inputs))[:, 0]
        loss = tf.reduce_mean(alpha * log_prob - value)
    variables = policy.net.trainable_variables
    actor_optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


if __name__ == "__main__":
    for _ in range(200):
        states = tf.random.normal([64, 11])
        update_critics(states, tf.random.uniform([64, 3]), tf.random.normal([64]), tf.random.normal([64, 11]))
        update_actor(states)
