"""Prices of options, by formula and by simulation. Timed: black_scholes, greeks, simulate, asian."""

import tensorflow as tf


def normal_cdf(x):
    return 0.5 * (1.0 + tf.math.erf(x / tf.sqrt(2.0)))


def black_scholes(spot, strike, time, rate, volatility):
    d1 = (tf.math.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / (volatility * tf.sqrt(time))
    d2 = d1 - volatility * tf.sqrt(time)
    return spot * normal_cdf(d1) - strike * tf.exp(-rate * time) * normal_cdf(d2)


def greeks(spot, strike, time, rate, volatility):
    with tf.GradientTape() as outer:
        outer.watch(spot)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([spot, volatility, time])
            price = black_scholes(spot, strike, time, rate, volatility)
        delta = tape.gradient(price, spot)
        vega = tape.gradient(price, volatility)
    return price, delta, vega, outer.gradient(delta, spot)


def simulate(spot, rate, volatility, paths, steps):
    dt = 1.0 / steps
    state = tf.fill([paths], spot)
    for _ in range(steps):
        noise = tf.random.normal([paths])
        state *= tf.exp((rate - 0.5 * volatility**2) * dt + volatility * dt**0.5 * noise)
    return state


def asian(spot, rate, volatility, strike):
    noise = tf.random.normal([5000, 64])
    growth = (rate - 0.5 * volatility**2) / 64.0 + volatility * noise / 8.0
    path = spot * tf.exp(tf.cumsum(growth, axis=1))
    return tf.exp(-rate) * tf.reduce_mean(tf.nn.relu(tf.reduce_mean(path, axis=1) - strike))


if __name__ == "__main__":
    one = tf.constant(1.0)
    for _ in range(50):
        spots = tf.random.uniform([100], 80.0, 120.0)
        greeks(spots, tf.fill([100], 100.0), tf.ones([100]), tf.constant(0.02), tf.fill([100], 0.3))
        simulate(100.0 * one, tf.constant(0.02), tf.constant(0.3), 2000, 50)
        asian(100.0 * one, tf.constant(0.02), tf.constant(0.3), 100.0 * one)
