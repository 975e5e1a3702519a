"""Deep Q-learning (double, with a target network) of CartPole."""

import argparse
import time

import numpy as np
import tensorflow as tf
from environment import CartPole
from replay import ReplayBuffer
from tensorflow import keras

NUM_ACTIONS = 2
GAMMA = 0.99
BATCH_SIZE = 32
TARGET_UPDATE = 0.01


class QNetwork(keras.Model):
    def __init__(self, units=64):
        super().__init__()
        self.hidden1 = keras.layers.Dense(units, activation="relu")
        self.hidden2 = keras.layers.Dense(units, activation="relu")
        self.values = keras.layers.Dense(NUM_ACTIONS)
        self.units = units

    def build(self, input_shape):
        self.hidden1.build(input_shape)
        self.hidden2.build((None, self.units))
        self.values.build((None, self.units))
        self.built = True

    def call(self, states):
        return self.values(self.hidden2(self.hidden1(states)))


class Agent:
    def __init__(self, seed, learning_rate=1e-3):
        self.rng = np.random.default_rng(seed)
        self.online = QNetwork()
        self.target = QNetwork()
        self.online.build((None, 4))
        self.target.build((None, 4))
        self.target.set_weights(self.online.get_weights())
        self.optimizer = keras.optimizers.Adam(learning_rate)
        self.loss_fn = keras.losses.Huber()

    def best_actions(self, states):
        """The actions of highest value."""
        return tf.argmax(self.online(states), axis=1)

    def act(self, state, epsilon):
        """An action for one state; a random one with probability epsilon."""
        if self.rng.random() < epsilon:
            return int(self.rng.integers(NUM_ACTIONS))
        return int(self.best_actions(tf.convert_to_tensor(state[np.newaxis]))[0])

    def train_step(self, states, actions, rewards, next_states, dones):
        """Moves the values of the actions taken towards reward and discounted future."""
        next_actions = tf.argmax(self.online(next_states), axis=1)
        future = tf.gather(self.target(next_states), next_actions, axis=1, batch_dims=1)
        goals = rewards + GAMMA * (1.0 - dones) * future
        with tf.GradientTape() as tape:
            taken = tf.reduce_sum(self.online(states) * tf.one_hot(actions, NUM_ACTIONS), axis=1)
            loss = self.loss_fn(goals, taken)
        variables = self.online.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    def update_target(self):
        for slow, fast in zip(self.target.trainable_variables, self.online.trainable_variables, strict=True):
            slow.assign(slow + TARGET_UPDATE * (fast - slow))


def train(agent, environment, buffer, steps, warmup=200):
    state = environment.reset()
    returns, losses, total = [], [], 0.0
    for step in range(1, steps + 1):
        epsilon = max(0.05, 1.0 - step / (0.4 * steps))
        action = agent.act(state, epsilon)
        next_state, reward, fallen, truncated = environment.step(action)
        buffer.add(state, action, reward, next_state, float(fallen))
        total += reward
        state = next_state
        if fallen or truncated:
            returns.append(total)
            state, total = environment.reset(), 0.0
        if step > warmup:
            batch = [tf.convert_to_tensor(array) for array in buffer.sample(BATCH_SIZE)]
            losses.append(agent.train_step(*batch))
            agent.update_target()
        if step % 200 == 0:
            print(f"step {step}: mean return {np.mean(returns[-10:]):.1f}, loss {np.mean(losses[-200:]):.4f}")
    return returns


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1200)
    args = parser.parse_args()
    keras.utils.set_random_seed(21)
    agent = Agent(seed=22)
    start = time.perf_counter()
    returns = train(agent, CartPole(seed=23), ReplayBuffer(10000, seed=24), args.steps)
    print(f"{len(returns)} episodes in {time.perf_counter() - start:.1f} s")
    print(f"mean return of the last 20 episodes: {np.mean(returns[-20:]):.1f}")


if __name__ == "__main__":
    main()
