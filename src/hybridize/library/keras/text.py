"""What Keras has that gives no tensors: tokenizers, word indices, name scopes."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import INT_V, NONE_V, STR_V, Value, prim, tensor
from hybridize.domain.tensors import NDARRAY, UNRESOLVED
from hybridize.library.defaults import keep_arguments
from hybridize.library.spec import Call, ClassSpec, Spec, nothing, parametrized

_TOKENIZER: Final = "keras.preprocessing.text.Tokenizer"
_NUMBER: Final = prim("int", True).value


@parametrized
def _index(call: Call, tag: str, value: Value) -> Value:
    """A dictionary with such values under keys that are not known."""
    made = call.new("dict", tag)
    call.engine.cells.lose_exactness(made)
    call.write(made.rest_cell(), value)
    return made.value


def _sequences(call: Call) -> Value:
    return call.list_of(call.list_of(_NUMBER, "list", "sequence"), "list", "sequences")


def _texts(call: Call) -> Value:
    return call.list_of(STR_V, "list", "texts")


def _matrix(call: Call) -> Value:
    return tensor(NDARRAY, "float64", (UNRESOLVED, UNRESOLVED)).value


def _scope(call: Call) -> Value:
    return call.made("tf.name_scope").value


FUNCTIONS: Final[dict[str, Spec]] = {
    "keras.backend.name_scope": Spec(_scope),
    "keras.name_scope": Spec(_scope),
    "keras.preprocessing.text.tokenizer_from_json": Spec(lambda call: keep_arguments(call, _TOKENIZER).value),
    "keras.preprocessing.text.text_to_word_sequence": Spec(lambda call: call.list_of(STR_V, "list", "words")),
    "keras.preprocessing.text.one_hot": Spec(lambda call: call.list_of(_NUMBER, "list", "numbers")),
    "keras.preprocessing.text.hashing_trick": Spec(lambda call: call.list_of(_NUMBER, "list", "numbers")),
    "keras.datasets.imdb.get_word_index": Spec(_index("words", _NUMBER), effects=("io",)),
    "keras.datasets.reuters.get_word_index": Spec(_index("words", _NUMBER), effects=("io",)),
}
CLASSES: Final[dict[str, ClassSpec]] = {
    _TOKENIZER: ClassSpec(
        methods={
            "fit_on_texts": Spec(nothing, effects=("mutate",)),
            "fit_on_sequences": Spec(nothing, effects=("mutate",)),
            "texts_to_sequences": Spec(_sequences),
            "sequences_to_texts": Spec(_texts),
            "texts_to_matrix": Spec(_matrix),
            "sequences_to_matrix": Spec(_matrix),
            "to_json": Spec(lambda call: STR_V),
            "get_config": Spec(_index("config", STR_V)),
        },
        properties={
            "word_index": _index("word_index", _NUMBER),
            "index_word": _index("index_word", STR_V),
            "word_counts": _index("word_counts", _NUMBER),
            "num_words": lambda call: join(INT_V, NONE_V),
            "document_count": lambda call: INT_V,
        },
        parameters=("num_words", "filters", "lower", "split", "char_level", "oov_token"),
    ),
}
