"""Returns, advantages and the clipped objective. Timed: discounted, advantages, clipped_objective, update."""

import tensorflow as tf

policy = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="tanh"), tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam(3e-4)


def discounted(rewards, gamma):
    total = tf.zeros_like(rewards[0])
    result = tf.TensorArray(tf.float32, size=tf.shape(rewards)[0])
    for i in tf.range(tf.shape(rewards)[0] - 1, -1, -1):
        total = rewards[i] + gamma * total
        result = result.write(i, total)
    return result.stack()


def advantages(returns, values):
    difference = returns - values
    return (difference - tf.reduce_mean(difference)) / (tf.math.reduce_std(difference) + 1e-8)


def clipped_objective(log_probs, old, advantage, epsilon):
    ratio = tf.exp(log_probs - old)
    clipped = tf.clip_by_value(ratio, 1.0 - epsilon, 1.0 + epsilon)
    return -tf.reduce_mean(tf.minimum(ratio * advantage, clipped * advantage))


def update(states, actions, old, advantage, epsilon):
    with tf.GradientTape() as tape:
        log_probs = tf.nn.log_softmax(policy(states))
        chosen = tf.gather(log_probs, actions, batch_dims=1)
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(log_probs) * log_probs, axis=1))
        loss = clipped_objective(chosen, old, advantage, epsilon) - 0.01 * entropy
    weights = policy.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


if __name__ == "__main__":
    gamma, epsilon = tf.constant(0.99), tf.constant(0.2)
    for _ in range(300):
        rewards = tf.random.normal([40])
        advantage = advantages(discounted(rewards, gamma), tf.random.normal([40]))
        actions = tf.random.uniform([40], maxval=2, dtype=tf.int32)
        update(tf.random.normal([40, 4]), actions, tf.fill([40], -0.7), advantage, epsilon)
