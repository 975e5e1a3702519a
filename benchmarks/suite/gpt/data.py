"""Sentences of a little grammar, as characters."""

import numpy as np

NOUNS = "cat dog bird king queen tree river stone child horse".split()
VERBS = "sees likes finds follows paints hears wakes calls".split()
ADJECTIVES = "old small red quiet happy strange tall".split()


def write_text(sentences, seed):
    """A text of so many sentences."""
    rng = np.random.default_rng(seed)

    def noun_phrase():
        adjective = rng.choice(ADJECTIVES) + " " if rng.random() < 0.5 else ""
        return f"the {adjective}{rng.choice(NOUNS)}"

    return " ".join(f"{noun_phrase()} {rng.choice(VERBS)} {noun_phrase()}." for _ in range(sentences))


class CharTokenizer:
    """Characters <-> numbers."""

    def __init__(self, text):
        self.characters = sorted(set(text))
        self.numbers = {character: number for number, character in enumerate(self.characters)}

    def encode(self, text):
        return np.array([self.numbers[character] for character in text], dtype="int32")

    def decode(self, numbers):
        return "".join(self.characters[number] for number in numbers)
