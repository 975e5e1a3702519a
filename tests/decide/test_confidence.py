"""What conversions rest on, what must be seen to be gained, and what the default leaves to who asks for more."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Action, FunctionReport

CHAIN = "\n    ".join(f"x = tf.sin(x) * {i}.0 + 1.0" for i in range(30))
LIBRARY = f"import tensorflow as tf\ndef wave(x):\n    {CHAIN}\n    return x\n"
METADATA = '[project]\nname = "waves"\n'


def functions(tmp_path: Path, files: dict[str, str], **options: object) -> dict[str, FunctionReport]:
    for path, text in files.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    report = analyze([tmp_path], Config(**options))  # type: ignore[arg-type]  # the options of the test
    return {f.facts.qualname: f for f in report.functions}


def package(**files: str) -> dict[str, str]:
    """A library `waves` with a function, and files beside it."""
    return {"pyproject.toml": METADATA, "waves/__init__.py": "", "waves/core.py": LIBRARY, **files}


def is_converted(function: FunctionReport) -> bool:
    return function.decision.action is Action.CONVERT_TO_HYBRID


def codes(function: FunctionReport) -> list[str]:
    return [status.code for status in function.statuses]


LOOP = "import tensorflow as tf\nfrom waves.core import wave\nfor _ in range(10_000):\n    wave(tf.ones(3))\n"
TEST = """
import tensorflow as tf
from waves.core import wave
def test_wave():
    for _ in range(10_000):
        wave(tf.ones(3))
"""


def test_a_loop_of_a_program_shows_that_a_function_of_a_library_pays(tmp_path: Path) -> None:
    wave = functions(tmp_path, package(**{"examples/run.py": LOOP}))["wave"]
    assert is_converted(wave)
    assert wave.decision.confidence == "seen"
    assert wave.decision.grounds[0].path == "examples/run.py"


def test_a_loop_of_a_test_shows_what_is_accepted_and_not_how_often(tmp_path: Path) -> None:
    wave = functions(tmp_path, package(**{"tests/test_core.py": TEST}))["wave"]
    assert not is_converted(wave)
    assert codes(wave) == ["HY026"]
    assert (wave.decision.precondition, wave.decision.confidence) == ("P1", "declared")


def test_whoever_asks_for_all_gets_it(tmp_path: Path) -> None:
    assert is_converted(functions(tmp_path, package(**{"tests/test_core.py": TEST}), all_safe=True)["wave"])


STEP = """
    import tensorflow as tf

    class Trainer:
        def __init__(self):
            self.w = tf.Variable(tf.ones([3, 1]))
            self.b = tf.Variable(tf.zeros([1]))
            self.optimizer = tf.keras.optimizers.Adam()

        def update(self, x{hint}):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.tanh(x @ self.w + self.b)))
            gradients = tape.gradient(loss, [self.w, self.b])
            self.optimizer.apply_gradients(zip(gradients, [self.w, self.b]))
            return loss
    """
RUN = """
        def run(self, batches):
            for batch in batches:
                self.update(batch)
"""
USE = "import tensorflow as tf\nfrom waves.core import Trainer\ndef test_it():\n    {}\n"


@pytest.mark.parametrize(
    ("hint", "test", "level"),
    [
        (": tf.Tensor", "assert Trainer", "declared"),
        ("", "trainer = Trainer()\n    assert trainer.update(tf.ones([2, 3])) is not None", "declared"),
        ("", "Trainer().run([tf.ones([2, 3])])", "seen"),
    ],
)
def test_a_step_that_trains_is_called_often_and_needs_callers_that_are_seen(
    hint: str, test: str, level: str, tmp_path: Path
) -> None:
    core = STEP.replace("{hint}", hint) + (RUN if "run" in test else "")
    files = package(**{"waves/core.py": core, "tests/test_core.py": USE.format(test)})
    step = functions(tmp_path, files)["Trainer.update"]
    assert step.decision.confidence == level
    assert is_converted(step) is (level == "seen")
    if level != "seen":
        assert codes(step) == ["HY027"]
        assert is_converted(functions(tmp_path, files, confidence="declared")["Trainer.update"])


def test_helpers_of_tests_stay_as_they_are(tmp_path: Path) -> None:
    test = f"{LIBRARY}def test_it():\n    for _ in range(10_000):\n        wave(tf.ones(3))\n"
    assert codes(functions(tmp_path, {"test_it.py": test})["wave"]) == ["HY025"]


def test_a_nested_function_is_traced_anew_by_each_call_around_it(tmp_path: Path) -> None:
    body = CHAIN.replace("\n    ", "\n        ")
    core = (
        "import tensorflow as tf\n"
        f"def solve(x, n):\n    def body(x):\n        {body}\n        return x\n"
        "    for _ in range(n):\n        x = body(x)\n    print('solved')\n    return x\n"
    )
    run = "import sys\nimport tensorflow as tf\nfrom waves.core import solve\nsolve(tf.ones(3), int(sys.argv[1]))\n"
    assert codes(functions(tmp_path, package(**{"waves/core.py": core, "run.py": run}))["solve.body"]) == ["HY026"]
    program = {"core.py": core, "run.py": run.replace("waves.core", "core")}
    assert is_converted(functions(tmp_path / "program", program)["solve.body"])


def test_what_is_withheld_is_not_made_up_for_by_what_it_calls(tmp_path: Path) -> None:
    program = f"""\
import sys
import tensorflow as tf
import unheard_of
def inner(x):
    {CHAIN}
    return x
def outer(x):
    scale = float(unheard_of.tell(x))
    return inner(x) + inner(scale * x)
for i in range(int(sys.argv[1])):
    outer(tf.ones(3))
"""
    found = functions(tmp_path, {"run.py": program})
    assert codes(found["outer"]) == ["HY027"]
    assert not is_converted(found["inner"])
    found = functions(tmp_path, {"run.py": program}, confidence="assumed")
    assert is_converted(found["outer"])


def test_files_without_tensorflow_are_left_to_any_backend(tmp_path: Path) -> None:
    layer = """
        import sys
        import keras
        import numpy as np

        def score(x):
            for i in range(30):
                x = keras.ops.sin(x) * 2.0 + 1.0
            return x

        for _ in range(int(sys.argv[1])):
            score(keras.ops.ones(3))
        """
    score = functions(tmp_path, {"run.py": layer})["score"]
    assert (score.decision.confidence, codes(score)) == ("assumed", ["HY027"])


def test_even_who_asks_for_all_gets_no_graph_of_what_may_give_anything(tmp_path: Path) -> None:
    source = f"""\
import tensorflow as tf
import unheard_of
def load(x):
    {CHAIN}
    return unheard_of.find(x)
for _ in range(100):
    print(load(tf.ones(3)))
"""
    load = functions(tmp_path, {"run.py": source}, all_safe=True)["load"]
    assert not is_converted(load)


TRAIN = """\
import tensorflow as tf
from zoo import small
net = small("ten classes")
optimizer = tf.keras.optimizers.SGD(0.1)
def step(x, y):
    {before}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(x) - y))
    variables = net.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss
def never_called(batches):
    for x, y in batches:
        step(x, y)
for i in range(1000):
    step(tf.ones([2, 3]), tf.ones([2, 1]))
"""


def test_a_model_of_another_package_that_the_program_trains_runs_in_graphs(tmp_path: Path) -> None:
    step = functions(tmp_path, {"run.py": TRAIN.format(before="pass")})["step"]
    assert (step.decision.confidence, is_converted(step)) == ("seen", True)


def test_other_code_of_another_package_may_do_anything(tmp_path: Path) -> None:
    source = TRAIN.format(before="x = scale(x)").replace("import small", "import scale, small")
    step = functions(tmp_path, {"run.py": source})["step"]
    assert codes(step) == ["HY027"]


@pytest.mark.parametrize(("first", "level"), [("", "seen"), ("from legacy import *\n", "assumed")])
def test_a_name_that_nothing_defines_raises_either_way(first: str, level: str, tmp_path: Path) -> None:
    source = first + TRAIN.format(before="x = undefined(x)")
    assert functions(tmp_path, {"run.py": source})["step"].decision.confidence == level


def test_what_a_program_never_runs_does_not_speak_for_it(tmp_path: Path) -> None:
    step = functions(tmp_path, {"run.py": TRAIN.format(before="pass")})["step"]
    assert "never_called" not in step.decision.grounds[0].message


ASKED = 'keras.backend.backend() == "tensorflow"'
NEUTRAL = {
    "waves/ops.py": """
        import keras

        def total(x):
            for i in range(30):
                x = keras.ops.sin(x) * 2.0 + 1.0
            return x

        def smallest(x):
            if keras.backend.backend() == "tensorflow":
                import tensorflow as tf
                return tf.reduce_min(x)
            return -keras.ops.max(-x)
        """,
    "waves/deep.py": """
        from waves import ops

        def twice(x):
            return ops.total(ops.total(x) + 1.0) * 2.0 - x
        """,
    "waves/deeper.py": """
        from waves.deep import twice

        def often(x):
            return twice(twice(x) + 1.0) * 2.0 - x
        """,
}
ON_TENSORS = "import tensorflow as tf\nfrom waves.deeper import often\nfor _ in range(1000):\n    often(tf.ones(3))\n"


@pytest.mark.parametrize("name", ["total", "twice", "often"])
def test_a_library_that_runs_on_any_backend_gets_no_graph(name: str, tmp_path: Path) -> None:
    found = functions(tmp_path, package(**NEUTRAL, **{"run.py": ON_TENSORS}), all_safe=True)[name]
    assert not is_converted(found)


@pytest.mark.parametrize(
    "line",
    ["import tensorflow as tf", "from tensorflow import math", "try:\n    import tensorflow.math\nfinally:\n    pass"],
)
@pytest.mark.parametrize("name", ["total", "twice", "often"])
def test_a_file_that_imports_tensorflow_needs_it(line: str, name: str, tmp_path: Path) -> None:
    files = {
        **NEUTRAL,
        "waves/ops.py": f"{line}\n{textwrap.dedent(NEUTRAL['waves/ops.py']).replace(ASKED, 'len(x.shape)')}",
    }
    found = functions(tmp_path, package(**files, **{"run.py": ON_TENSORS}), all_safe=True)[name]
    assert is_converted(found)


CHOOSES = """
{imports}
import tensorflow as tf

def total(x):
    for i in range(30):
        x = tf.sin(x) * 2.0 + 1.0
    return x

def smallest(x):
    {asked}
"""


@pytest.mark.parametrize(
    ("imports", "asked", "stays"),
    [
        ("import keras", "return tf.reduce_min(x) if keras.config.backend() == 'tensorflow' else x.min()", True),
        (
            "import keras",
            "if keras.backend.backend() in ('torch',):\n        return x.min()\n    return tf.sin(x)",
            True,
        ),
        (
            "from keras import backend as K",
            "if K.backend() != 'tensorflow':\n        return x\n    return tf.sin(x)",
            True,
        ),
        (
            "import keras",
            "if keras.config.backend() != 'tensorflow':\n        raise ValueError\n    return tf.sin(x)",
            False,
        ),
        ("import keras", "assert keras.config.backend() == 'tensorflow'\n    return tf.sin(x)", False),
        ("from tensorflow import keras", "return x if keras.backend.backend() == 'theano' else tf.sin(x)", False),
        ("import keras", "return keras.backend.floatx() == 'float32'", False),
    ],
)
def test_who_chooses_by_the_backend_of_keras_runs_on_several(
    imports: str, asked: str, stays: bool, tmp_path: Path
) -> None:
    run = "import tensorflow as tf\nfrom waves.ops import total\nfor _ in range(1000):\n    total(tf.ones(3))\n"
    files = package(**{"waves/ops.py": CHOOSES.format(imports=imports, asked=asked), "run.py": run})
    assert is_converted(functions(tmp_path, files, all_safe=True)["total"]) is not stays
