"""A filter over a sequence of measurements. Timed: predict_state, correct, filter_sequence, log_likelihood."""

import tensorflow as tf

F = tf.constant([[1.0, 0.1], [0.0, 1.0]])
H = tf.constant([[1.0, 0.0]])
Q = 0.01 * tf.eye(2)
R = 0.1 * tf.eye(1)


def predict_state(mean, covariance):
    return tf.linalg.matvec(F, mean), F @ covariance @ tf.transpose(F) + Q


def correct(mean, covariance, measured):
    innovation = measured - tf.linalg.matvec(H, mean)
    s = H @ covariance @ tf.transpose(H) + R
    gain = covariance @ tf.transpose(H) @ tf.linalg.inv(s)
    mean = mean + tf.linalg.matvec(gain, innovation)
    return mean, (tf.eye(2) - gain @ H) @ covariance, innovation, s


def log_likelihood(innovation, s):
    solved = tf.linalg.solve(s, innovation[:, None])[:, 0]
    return -0.5 * (tf.reduce_sum(innovation * solved) + tf.linalg.logdet(s) + 1.8378771)


def filter_sequence(measurements):
    mean, covariance = tf.zeros([2]), tf.eye(2)
    total = tf.constant(0.0)
    for measured in measurements:
        mean, covariance = predict_state(mean, covariance)
        mean, covariance, innovation, s = correct(mean, covariance, measured)
        total += log_likelihood(innovation, s)
    return mean, total


if __name__ == "__main__":
    for _ in range(50):
        filter_sequence(tf.random.normal([40, 1]))
