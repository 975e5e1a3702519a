"""Trains the character model and lets it write a line."""

import argparse
import time

import tensorflow as tf
from data import CharTokenizer, write_text
from model import GPT

CONTEXT = 32
BATCH_SIZE = 8
CLIP_NORM = 1.0


class Trainer:
    def __init__(self, model, learning_rate=1e-3):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(learning_rate)

    def loss(self, tokens):
        """Mean cross entropy of each next character."""
        logits = self.model(tokens[:, :-1])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tokens[:, 1:], logits=logits)
        return tf.reduce_mean(losses)

    def train_step(self, tokens):
        with tf.GradientTape() as tape:
            loss = self.loss(tokens)
        variables = self.model.trainable_variables
        gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, variables), CLIP_NORM)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss, norm

    def fit(self, dataset, steps):
        for step, tokens in enumerate(dataset.take(steps), 1):
            loss, norm = self.train_step(tokens)
            if step % 30 == 0:
                print(f"step {step}: loss {loss:.4f}, gradient norm {norm:.3f}")


def generate(model, tokens, length):
    """The likeliest continuation; the window slides once the context is full."""
    for _ in range(length):
        logits = model(tokens[:, -model.context :])
        following = tf.argmax(logits[:, -1, :], axis=-1, output_type=tf.int32)
        tokens = tf.concat([tokens, following[:, tf.newaxis]], axis=1)
    return tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    tf.keras.utils.set_random_seed(1)

    text = write_text(2000, seed=3)
    tokenizer = CharTokenizer(text)
    tokens = tokenizer.encode(text)
    windows = tf.data.Dataset.from_tensor_slices(tokens).batch(CONTEXT + 1, drop_remainder=True)
    dataset = windows.repeat().shuffle(1000, seed=1).batch(BATCH_SIZE, drop_remainder=True)
    held_out = tf.constant(tokenizer.encode(write_text(100, seed=4))[: 64 * (CONTEXT + 1)].reshape(64, CONTEXT + 1))

    model = GPT(len(tokenizer.characters), CONTEXT)
    trainer = Trainer(model)
    start = time.perf_counter()
    trainer.fit(dataset, args.steps)
    print(f"trained for {time.perf_counter() - start:.1f} s")
    print(f"held-out loss {trainer.loss(held_out):.4f}")
    prompt = tf.constant(tokenizer.encode("the ")[None])
    print("sample:", tokenizer.decode(generate(model, prompt, 40)[0].numpy()))


if __name__ == "__main__":
    main()
