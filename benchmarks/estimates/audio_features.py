"""Spectra of sound. Timed: log_mel, delta, energy, augment_spectrum."""

import tensorflow as tf

mel = tf.signal.linear_to_mel_weight_matrix(40, 129, 8000)


def log_mel(signal):
    spectrum = tf.abs(tf.signal.stft(signal, frame_length=256, frame_step=128))
    return tf.math.log(tf.tensordot(spectrum, mel, 1) + 1e-6)


def delta(features):
    padded = tf.pad(features, [[0, 0], [2, 2], [0, 0]], mode="SYMMETRIC")
    near = padded[:, 3:-1] - padded[:, 1:-3]
    far = padded[:, 4:] - padded[:, :-4]
    return (near + 2.0 * far) / 10.0


def energy(signal):
    frames = tf.signal.frame(signal, 256, 128)
    frames = frames - tf.reduce_mean(frames, axis=-1, keepdims=True)
    return 10.0 * tf.math.log(tf.reduce_mean(frames**2, axis=-1) + 1e-10) / tf.math.log(10.0)


def augment_spectrum(features, width):
    length = tf.shape(features)[1]
    start = tf.random.uniform([], 0, length - width, dtype=tf.int32)
    steps = tf.range(length)
    keep = tf.logical_or(steps < start, steps >= start + width)
    return features * tf.cast(keep, features.dtype)[tf.newaxis, :, tf.newaxis]


if __name__ == "__main__":
    for _ in range(100):
        signal = tf.random.normal([8, 8000])
        found = log_mel(signal)
        augment_spectrum(tf.concat([found, delta(found)], axis=-1), tf.constant(10))
        energy(signal)
