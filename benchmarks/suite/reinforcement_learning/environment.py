"""The pole on a cart, in NumPy."""

import numpy as np

GRAVITY, CART_MASS, POLE_MASS, HALF_LENGTH, FORCE, DT = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
MAX_STEPS = 200


class CartPole:
    """State: position, velocity, angle, angular velocity. An action pushes left (0) or right (1)."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state = np.zeros(4)
        self.steps = 0

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, 4)
        self.steps = 0
        return self.state.astype("float32")

    def step(self, action):
        """The next state, the reward, and whether the episode is over."""
        x, velocity, angle, spin = self.state
        force = FORCE if action == 1 else -FORCE
        total = CART_MASS + POLE_MASS
        pushed = (force + POLE_MASS * HALF_LENGTH * spin**2 * np.sin(angle)) / total
        inertia = HALF_LENGTH * (4 / 3 - POLE_MASS * np.cos(angle) ** 2 / total)
        spin_change = (GRAVITY * np.sin(angle) - np.cos(angle) * pushed) / inertia
        velocity_change = pushed - POLE_MASS * HALF_LENGTH * spin_change * np.cos(angle) / total
        self.state = np.array(
            [x + DT * velocity, velocity + DT * velocity_change, angle + DT * spin, spin + DT * spin_change]
        )
        self.steps += 1
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21
        return self.state.astype("float32"), 1.0, fallen, self.steps >= MAX_STEPS
