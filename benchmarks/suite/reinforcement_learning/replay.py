"""Memory of transitions."""

import numpy as np


class ReplayBuffer:
    def __init__(self, capacity, seed):
        self.capacity = capacity
        self.rng = np.random.default_rng(seed)
        self.states = np.zeros((capacity, 4), "float32")
        self.actions = np.zeros(capacity, "int32")
        self.rewards = np.zeros(capacity, "float32")
        self.next_states = np.zeros((capacity, 4), "float32")
        self.dones = np.zeros(capacity, "float32")
        self.size = self.position = 0

    def add(self, state, action, reward, next_state, done):
        i = self.position
        self.states[i], self.actions[i], self.rewards[i] = state, action, reward
        self.next_states[i], self.dones[i] = next_state, done
        self.position = (i + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, count):
        rows = self.rng.integers(0, self.size, count)
        return self.states[rows], self.actions[rows], self.rewards[rows], self.next_states[rows], self.dones[rows]
