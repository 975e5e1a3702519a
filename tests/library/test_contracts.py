"""The tables of contracts: what they say of a method, and that they name what the libraries have."""

from __future__ import annotations

import pytest

from hybridize.library import registry
from hybridize.library.contracts import keras, others, python, tensorflow
from hybridize.library.contracts.lookup import UNKNOWN, UNLISTED, contract_of, is_member
from hybridize.library.contracts.model import MODES, Answer, read

TABLES = {**keras.TABLES, **tensorflow.TABLES}
#: Not in any release of the index: TensorFlow 2.9 has them, or Keras asks any object for them.
ELSEWHERE = {
    "keras.layers.Layer": {"state_size", "output_size", "get_initial_state"},
    "keras.optimizers.Optimizer": set(read(keras.TABLES["keras.optimizers.legacy.Optimizer"])),
    "tf.__internal__.CompositeTensor": {"_type_spec", "_shape_invariant_to_type_spec", "_consumers"},
    "tf.compat.v1.train.Optimizer": {"_apply_sparse_shared"},
    "tf.experimental.ExtensionType": {"__validate__"},
}


@pytest.mark.parametrize("cls", TABLES)
def test_a_table_names_members_of_its_class(cls: str) -> None:
    assert registry.normalize(cls) == cls
    chain = registry.class_chain(cls)
    names = {m for m in read(TABLES[cls]) if not hasattr(object, m) and not any(is_member(n, m) for n in chain)}
    assert names <= ELSEWHERE.get(cls, set())


@pytest.mark.parametrize("text", [*TABLES.values(), *others.TABLES.values(), *python.TABLES.values(), python.SPECIAL])
def test_every_row_says_when_and_why(text: str) -> None:
    for name, contract in read(text).items():
        assert contract.mode in MODES, name
        assert contract.gives, name
        assert bool(contract.because) is (contract.answer is not Answer.GRAPH), name


CASES = {
    ("keras.Model", "call"): Answer.GRAPH,
    ("keras.Model", "train_step"): Answer.GRAPH,
    ("keras.layers.Dense", "build"): Answer.RAISES,
    ("keras.layers.Dense", "_serialize_to_tensors"): UNLISTED,
    ("keras.layers.Dense", "attend"): None,
    ("keras.layers.Dense", "_attend"): None,
    ("keras.metrics.Mean", "result"): Answer.GRAPH,
    ("keras.optimizers.legacy.Adam", "_resource_apply_dense"): Answer.RAISES,
    ("tf.linalg.LinearOperatorDiag", "_matmul"): Answer.GRAPH,
    ("tf.linalg.LinearOperatorDiag", "_assert_non_singular"): Answer.RAISES,
    ("tensorflow_probability.distributions.Normal", "_log_prob"): Answer.UNPROVEN,
    ("tensorflow_probability.distributions.Normal", "_parameter_properties"): Answer.RAISES,
    ("tensorflow_probability.distributions.Normal", "distance"): None,
    ("gymnasium.Env", "step"): Answer.DIFFERS,
    ("gymnasium.Env", "dynamics"): UNKNOWN,
    ("nobody.knows.Base", "forward"): UNKNOWN,
    ("nobody.knows.Base", "__forward"): None,
    ("nobody.knows.Base", "__call__"): UNKNOWN,
    ("builtins.object", "__call__"): Answer.GRAPH,
    ("builtins.object", "__add__"): Answer.GRAPH,
    ("builtins.object", "__bool__"): Answer.RAISES,
    ("builtins.dict", "keys"): UNLISTED,
    ("builtins.dict", "total"): None,
    ("abc.ABC", "forward"): None,
}


@pytest.mark.parametrize(("cls", "method"), CASES)
def test_the_contract_of_a_method(cls: str, method: str) -> None:
    found = contract_of(registry.class_chain(cls), method)
    expected = CASES[cls, method]
    if found is None or expected is None:
        assert found is expected
    else:
        assert expected in (found.contract, found.contract.answer)


def test_some_answers_hold_from_a_version_of_keras_on() -> None:
    found = contract_of(registry.class_chain("keras.constraints.Constraint"), "__call__")
    assert found is not None
    assert found.contract.under(2) is Answer.UNPROVEN
    assert found.contract.under(3) is Answer.RAISES
