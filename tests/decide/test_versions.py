"""What differs between releases of TensorFlow is decided for all that a project allows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hybridize.api import analyze
from hybridize.config import Config
from hybridize.decide.model import Report
from hybridize.report.words import releases

UNBUILT = """\
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.parts = [tf.keras.layers.Dense(8) for _ in range(4)]

    def call(self, x):
        for part in self.parts:
            x = tf.nn.relu(part(x)) + tf.sin(x) * 0.5
        return x


net = Net()
for _ in range(1000):
    net(tf.ones([2, 8]))
"""
EXAMPLE = Path(__file__).parents[2] / "examples" / "image_classifier"


def verdicts(report: Report) -> dict[str, tuple[object, ...]]:
    return {
        f.facts.qualname: (f.decision.action, f.decision.precondition, *(s.code for s in f.statuses))
        for f in report.functions
    }


@pytest.mark.parametrize(
    ("requirement", "blocked"),
    [
        ("tensorflow==2.15.1", False),
        ("tensorflow<2.16", False),
        ("tensorflow>=2.16", True),
        ("tensorflow>=2.10", True),
        ("tensorflow", True),
    ],
)
def test_what_breaks_under_one_release_blocks(requirement: str, blocked: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"{requirement}\n")
    (tmp_path / "program.py").write_text(UNBUILT)
    assert ("HY401" in verdicts(analyze([tmp_path], Config()))["Net.call"]) == blocked


def test_a_readme_does_not_decide(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(UNBUILT)
    bare = verdicts(analyze([tmp_path], Config()))
    for text in ("Needs TensorFlow 2.15 or newer.", "Runs under TensorFlow 2.15."):
        (tmp_path / "README.md").write_text(text)
        assert verdicts(analyze([tmp_path], Config())) == bare


def test_the_example_is_judged_alike_wherever_it_is(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(EXAMPLE, copy)
    here, there = analyze([EXAMPLE], Config()), analyze([copy], Config())
    assert verdicts(here) == verdicts(there)
    assert here.project.versions == there.project.versions


def test_the_releases_are_in_every_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hybridize.cli import main

    (tmp_path / "requirements.txt").write_text("numpy\ntensorflow>=2.10,<2.17\n")
    (tmp_path / "program.py").write_text(UNBUILT)
    monkeypatch.chdir(tmp_path)
    said = "TensorFlow 2.16, any from 2.10 to 2.16 (requirements.txt:2), Keras 2 or 3"
    found = {"version": "2.16", "oldest": "2.10", "newest": "2.16", "keras": [2, 3], "source": "requirements.txt:2"}

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit):
            raise SystemExit(main(list(arguments)))
        return capsys.readouterr().out

    assert said in run("check", ".")
    assert said in run("explain", "Net.call")
    assert said in run("config")
    assert json.loads(run("check", ".", "--output-format", "json"))["project"]["tensorflow"] == found
    assert json.loads(run("config", "--output-format", "json"))["tensorflow-version"]["found"] == found


STEP = """\
import tensorflow as tf


def step(x):
    for _ in range(20):
        x = tf.sin(x) + x * 0.5
    return x


x = tf.ones([4, 4])
for _ in range(1000):
    x = step(x)
"""


def step_of(project: Path, config: Config | None = None, name: str = "step") -> tuple[object, ...]:
    return verdicts(analyze([project], config or Config()))[name]


@pytest.mark.parametrize(
    ("file", "text", "kept"),
    [
        ("requirements.txt", "tensorflow==1.15.2\n", True),
        ("requirements.txt", "numpy\ntensorflow-gpu==1.15\ntensorflow-probability==0.8\n", True),
        ("requirements.txt", "tensorflow>=1.14\n", True),
        ("requirements.txt", "tensorflow>=1.14,<3\n", True),
        ("requirements.txt", "tensorflow<2\n", True),
        ("setup.py", "setup(extras_require={'tf': ['tensorflow>=1.13']})\n", True),
        ("environment.yml", "dependencies:\n  - tensorflow-gpu=1.15=gpu_py37\n", True),
        ("Pipfile", '[packages]\ntensorflow = "==1.15"\n', True),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "^1.15"\n', True),
        ("README.md", "Needs tf 1.15, Python 3.7.\n", True),
        ("README.md", "Works with TensorFlow 1.x.\n", True),
        ("README.md", "Requires TensorFlow >= 1.4.\n", True),
        ("README.md", "Needs TensorFlow 2; for TensorFlow 1.15 see another branch.\n", False),
        ("requirements.txt", "tensorflow>=2.0\n", False),
    ],
)
def test_nothing_is_converted_that_tensorflow_1_may_run(file: str, text: str, kept: bool, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text)
    (tmp_path / "program.py").write_text(STEP)
    assert ("HY028" in step_of(tmp_path)) == kept
    assert ("nothing is converted by default" in releases(analyze([tmp_path], Config()).project.versions)) == kept
    assert "HY028" not in step_of(tmp_path, Config(tensorflow_version="2.15"))


def test_sources_of_tensorflow_2_narrow_a_range(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow>=1.14\n")
    (tmp_path / "program.py").write_text(STEP + "tf.random.set_seed(1)\n")
    assert "HY028" not in step_of(tmp_path)
    (tmp_path / "program.py").write_text(STEP + "if tf.__version__ > '2':\n    tf.random.set_seed(1)\n")
    assert "HY028" in step_of(tmp_path)


def test_all_safe_converts_where_tensorflow_2_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STEP)
    for requirement, kept in (("tensorflow>=1.14", False), ("tensorflow==1.15", True)):
        (tmp_path / "requirements.txt").write_text(f"{requirement}\n")
        assert ("HY028" in step_of(tmp_path, Config(all_safe=True))) == kept


def test_a_folder_with_requirements_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.4\n")
    for folder, requirement in (("old", "tensorflow==1.15"), ("new", "tensorflow==2.9")):
        (tmp_path / folder / "lib").mkdir(parents=True)
        (tmp_path / folder / "requirements.txt").write_text(f"{requirement}\n")
        (tmp_path / folder / "lib" / f"{folder}_program.py").write_text(STEP.replace("step", folder))
    found = verdicts(analyze([tmp_path], Config()))
    assert ("HY028" in found["old"], "HY028" in found["new"]) == (True, False)


SWITCH = "import tensorflow.compat.v1 as tf\n{}\n"


@pytest.mark.parametrize("requirement", ["tensorflow==1.15", "tensorflow==2.9"])
def test_a_session_on_a_release_of_its_own_is_no_process_of_the_project(requirement: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.4\n")
    (tmp_path / "program.py").write_text(STEP)
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "requirements.txt").write_text(f"{requirement}\n")
    main = SWITCH.format("import program\nwith tf.Session() as s:\n    s.run(program.step(tf.ones(2)))")
    (tmp_path / "paper" / "main.py").write_text(main)
    assert ("HY028" in step_of(tmp_path)) == (requirement == "tensorflow==2.9")


@pytest.mark.parametrize(
    ("main", "kept"),
    [
        (SWITCH.format("tf.disable_v2_behavior()") + "import program\n", True),
        (SWITCH.format("def main():\n    tf.disable_eager_execution()\nmain()") + "import program\n", True),
        (SWITCH.format("def main():\n    tf.disable_eager_execution()") + "import program\n", True),  # who runs it?
        (SWITCH.format("import program\nif __name__ == '__main__':\n    tf.disable_v2_behavior()"), True),
        (SWITCH.format("tf.disable_v2_behavior()"), False),  # another process
        (SWITCH.format("import program\nwith tf.Session() as s:\n    s.run(program.step(tf.ones(2)))"), True),
        (SWITCH.format("s = tf.InteractiveSession()") + "import program\n", False),  # only settings of devices
        (SWITCH.format("import program\ndef ask(s, x):\n    with tf.Session() as s:\n        return s.run(x)"), False),
    ],
)
def test_a_process_without_eager_execution(main: str, kept: bool, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STEP)
    (tmp_path / "main.py").write_text(main)
    assert ("HY028" in step_of(tmp_path)) == kept


@pytest.mark.parametrize(
    ("main", "kept"),
    [
        ("import tensorflow as tf\ntf.enable_eager_execution()\nimport program\n", True),
        ("import tensorflow.contrib.eager as tfe\nimport program\n", True),
        ("from tensorflow import contrib\nimport program\n", True),
        ("import tensorflow as tf\nimport program\nx = tf.placeholder(tf.float32)\n", True),
        ("import tensorflow as tf\nimport program\ndef old(x):\n    return tf.to_float(x)\n", False),
        ("try:\n    import tensorflow.contrib.eager\nexcept ImportError:\n    pass\nimport program\n", False),
        ("import tensorflow.compat.v1 as tf\nimport program\ntf.set_random_seed(1)\n", False),
        ("import tensorflow as tf\ntf.enable_eager_execution()\n", False),  # another program
    ],
)
def test_what_only_tensorflow_1_has_needs_it(main: str, kept: bool, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STEP)
    (tmp_path / "main.py").write_text(main)
    assert ("HY028" in step_of(tmp_path)) == kept


def test_a_module_of_another_program_stays_one_of_tensorflow_2(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STEP)
    (tmp_path / "old.py").write_text("import tensorflow as tf\ntf.enable_eager_execution()\nimport program\n")
    (tmp_path / "new.py").write_text("import program\n")
    assert "HY028" not in step_of(tmp_path)


def test_a_process_that_imports_what_cannot_be_parsed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STEP)
    (tmp_path / "broken.py").write_text("def (:\n")
    (tmp_path / "main.py").write_text(SWITCH.format("tf.disable_v2_behavior()") + "import broken, program\n")
    assert "HY028" in step_of(tmp_path)


def test_what_a_switched_module_shares_its_process_with(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STEP)
    (tmp_path / "switch.py").write_text(SWITCH.format("tf.disable_v2_behavior()"))
    (tmp_path / "main.py").write_text("import switch\nfrom program import step\n")
    assert "HY028" in step_of(tmp_path)


@pytest.mark.parametrize(
    ("call", "kept"), [("switch.old()\n", True), ("if __name__ == '__main__':\n    switch.old()\n", True), ("", False)]
)
def test_a_function_switches_where_it_is_called(call: str, kept: bool, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STEP)
    main = "\nif __name__ == '__main__':\n    old()\n"  # another program
    (tmp_path / "switch.py").write_text(SWITCH.format("def old():\n    tf.disable_v2_behavior()" + main))
    (tmp_path / "main.py").write_text("import switch\nfrom program import step\n" + call)
    assert ("HY028" in step_of(tmp_path)) == kept


def test_no_step_is_suggested_where_nothing_is_eager(tmp_path: Path) -> None:
    loop = """
w = tf.Variable(1.0)
for _ in range(100):
    with tf.GradientTape() as tape:
        loss = tf.square(w - 1.0)
    w.assign_sub(0.1 * tape.gradient(loss, w))
"""
    for switch, found in (("", {"HY110"}), ("tf.compat.v1.disable_eager_execution()", set())):
        (tmp_path / "program.py").write_text(f"import tensorflow as tf\n{switch}{loop}")
        report = analyze([tmp_path], Config())
        assert {f.code for f in report.findings} == found
        assert bool(report.repairs) == bool(found)


@pytest.mark.parametrize(
    ("optimizer", "made", "kept"),
    [
        ("tf.train.AdamOptimizer(0.1)", "program", True),
        ("tf.optimizers.Adam(0.1)", "program", False),
        ("tf.compat.v1.train.AdamOptimizer(0.1)", "program", False),
        ("tf.train.AdamOptimizer(0.1)", "called", True),
        ("tf.train.AdamOptimizer(0.1)", "guarded", False),
        ("tf.train.AdamOptimizer(0.1)", "tried", False),
    ],
)
def test_a_program_that_needs_names_of_the_first_release_runs_on_it(
    optimizer: str, made: str, kept: bool, tmp_path: Path
) -> None:
    """`tf.function` is in 1.14, too: that it stands beside says nothing."""
    graph = "\n\n@tf.function\ndef other(x):\n    return tf.exp(x)\n\n\n"
    function = f"\n\ndef make():\n    return {optimizer}\n\n\n"
    more = {
        "program": f"optimizer = {optimizer}\n",
        "called": f"{function}optimizer = make()\n",
        "guarded": f"{function}optimizer = make() if tf.__version__ < '2' else None\n",
        "tried": f"{function}try:\n    optimizer = make()\nexcept AttributeError:\n    optimizer = None\n",
    }
    (tmp_path / "program.py").write_text(STEP + graph + more[made])
    assert ("HY028" in step_of(tmp_path)) == kept
