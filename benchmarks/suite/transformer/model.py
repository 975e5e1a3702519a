"""The encoder-decoder transformer."""

import tensorflow as tf
from layers import DecoderLayer, EncoderLayer, create_look_ahead_mask, create_padding_mask, positional_encoding
from tensorflow import keras


class Transformer(keras.Model):
    def __init__(self, vocabulary, max_length, num_layers=2, d_model=64, num_heads=4, dff=128, rate=0.1):
        super().__init__()
        self.d_model = d_model
        self.embedding = keras.layers.Embedding(vocabulary, d_model)
        self.positions = positional_encoding(max_length, d_model)
        self.encoder_layers = [EncoderLayer(d_model, num_heads, dff, rate, seed=10 * i) for i in range(num_layers)]
        self.decoder_layers = [DecoderLayer(d_model, num_heads, dff, rate, seed=99 + 10 * i) for i in range(num_layers)]
        self.final = keras.layers.Dense(vocabulary)

    def build(self, input_shape=None):
        self.embedding.build((None, None))
        for layer in [*self.encoder_layers, *self.decoder_layers]:
            layer.build((None, None, self.d_model))
        self.final.build((None, None, self.d_model))
        self.built = True

    def embed(self, tokens):
        x = self.embedding(tokens) * tf.math.sqrt(tf.cast(self.d_model, tf.float32))
        return x + self.positions[:, : tf.shape(tokens)[1], :]

    def call(self, source, target, training=False):
        padding_mask = create_padding_mask(source)
        look_ahead_mask = tf.maximum(create_padding_mask(target), create_look_ahead_mask(tf.shape(target)[1]))
        encoded = self.embed(source)
        for layer in self.encoder_layers:
            encoded = layer(encoded, padding_mask, training=training)
        decoded = self.embed(target)
        for layer in self.decoder_layers:
            decoded = layer(decoded, encoded, look_ahead_mask, padding_mask, training=training)
        return self.final(decoded)
