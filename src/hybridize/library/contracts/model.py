"""What a contract says, and how the tables spell it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from hybridize.records import dataclass


class Answer(StrEnum):
    """Whether a graph may stand in the place of a method."""

    GRAPH = "graph"  # yes: whoever calls it takes what a graph gives
    UNPROVEN = "unproven"  # nobody says so: nothing is known to break, but the contract is the library's
    RAISES = "raises"  # no: TensorFlow, the library or Python raises
    DIFFERS = "differs"  # no: values of other types, state or gradients that are lost


#: When a library calls a method, as the tables spell it, and in a sentence.
MODES: Final = {
    "any": "eagerly and inside of graphs",
    "eager": "eagerly",
    "graph": "inside of a graph of its own",
    "build": "once, while it builds the object",
    "host": "as plain Python",
    "user": "",  # its users call it, not the library
    "loop": "between the steps that it runs",
    "symbolic": "on symbolic tensors, too",
    "save": "to write the object to a file or to make it anew",
    "v1": "while it builds a graph of TensorFlow 1",
}


@dataclass(frozen=True, slots=True)
class Contract:
    """What a library asks of a method that overrides one of its own.

    `mode` is a key of `MODES`; `gives` says what the method may return; `because` is why a graph may not stand in its
    place, or what speaks against it. With `since` that holds from that major version of Keras on, and is not proven
    before.
    """

    answer: Answer
    mode: str
    gives: str
    because: str = ""
    since: int = 0

    def under(self, keras: int) -> Answer:
        """The answer under a major version of Keras."""
        return self.answer if keras >= self.since else Answer.UNPROVEN


def read(text: str) -> dict[str, Contract]:
    """The contracts of a table by the name of the method.

    A line `answer | mode | gives | because`, and below it, indented, the names that it holds for. An answer may end
    with the major version of Keras from which on it holds: `raises@3`.
    """
    found: dict[str, Contract] = {}
    made = None
    for line in text.splitlines():
        if line[:1].isspace() and made is not None:
            found.update(dict.fromkeys(line.split(), made))
        elif line:
            columns = [column.strip() for column in line.split("|")]
            answer, _, since = columns[0].partition("@")
            made = Contract(Answer(answer), columns[1], columns[2], "".join(columns[3:]), int(since or 0))
    return found
