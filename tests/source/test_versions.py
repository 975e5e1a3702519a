"""Which TensorFlow a project runs on."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridize.source.versions import NEWEST, OLDEST, project_versions


@pytest.mark.parametrize(
    ("file", "text", "release", "keras"),
    [
        ("requirements.txt", "numpy\ntensorflow==2.9.1\n", (2, 9), 2),
        ("requirements.txt", "tensorflow>=2.4,<2.12  # for now\n", (2, 11), 2),
        ("requirements.txt", "tensorflow-gpu ~= 2.8.0\n", (2, 8), 2),
        ("requirements.txt", "tensorflow~=2.8\n", NEWEST, 3),
        ("requirements.txt", "tensorflow[and-cuda]>=2.16\n", NEWEST, 3),
        ("requirements.txt", "tensorflow<=2.10 ; python_version < '3.11'\n", (2, 10), 2),
        ("requirements.txt", "tensorflow<2.9.2\n", (2, 9), 2),
        ("requirements.txt", "tensorflow-probability==0.20\ntensorflow-datasets==4.9\n", NEWEST, 3),
        ("requirements.txt", "tensorflow\n", NEWEST, 3),
        ("requirements.txt", "# tensorflow==2.9\n", NEWEST, 3),
        ("requirements.txt", "tensorflow==1.15\n", (1, 15), 2),
        ("pyproject.toml", '[project]\ndependencies = ["tensorflow-cpu>=2.3,<2.6", "numpy"]\n', (2, 5), 2),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "^2.12"\n', NEWEST, 3),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntensorflow = "2.12.0"\n', (2, 12), 2),
        ("setup.py", "setup(install_requires=['tensorflow>=2.1,<=2.7', 'x'])\n", (2, 7), 2),
        ("environment.yml", "dependencies:\n  - python=3.9\n  - tensorflow=2.4.1\n", (2, 4), 2),
        ("poetry.lock", '[[package]]\nname = "tensorflow"\nversion = "2.15.1"\n', (2, 15), 2),
        ("Pipfile.lock", '{"default": {"tensorflow": {"hashes": ["a"], "version": "==2.13.0"}}}', (2, 13), 2),
        ("Dockerfile", "FROM tensorflow/tensorflow:2.11.0-gpu\nRUN true\n", (2, 11), 2),
    ],
)
def test_requirements_say_the_version(
    file: str, text: str, release: tuple[int, int], keras: int, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / file).write_text(text)
    found = project_versions(tmp_path, None)
    assert (found.tensorflow, found.keras) == (release, keras)


def test_the_option_wins(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.9\n")
    assert project_versions(tmp_path, "2.18").tensorflow == (2, 18)


def test_a_file_that_speaks_of_releases_without_functions_of_graphs_holds_no_more(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "environment.yml").write_text("dependencies:\n  - tensorflow=1.8.0\n")
    old = project_versions(tmp_path, None, ["import tensorflow as tf\n# @tf.function\ndef f(x):\n    return x\n"])
    assert (old.oldest, old.newest) == ((1, 8), (1, 8)), "what is commented out uses nothing"
    for text in ("@tf.function\ndef f(x):\n    return x\n", "step = tf.function(f)\n"):
        found = project_versions(tmp_path, None, [f"import tensorflow as tf\n{text}"])
        assert (found.oldest, found.newest, found.origin) == (OLDEST, NEWEST, "newest")
    (tmp_path / "environments" / "environment.yml").write_text("dependencies:\n  - tensorflow=1.15\n")
    assert project_versions(tmp_path, None, ["step = tf.function(f)\n"]).newest == (1, 15), "which has them"


def test_no_release_later_than_the_last_one_that_there_was(tmp_path: Path) -> None:
    found = project_versions(tmp_path, "<=2.4")
    assert (found.tensorflow, found.keras, found.newest, found.oldest) == ((2, 4), 2, (2, 4), OLDEST)
    assert not found.may_have_keras(3)
    (tmp_path / "requirements.txt").write_text("tensorflow==2.9\n")
    assert project_versions(tmp_path, "<=2.4").tensorflow == (2, 9), "what a file asks for was there"
    (tmp_path / "requirements.txt").write_text("tensorflow==2.1\n")
    assert project_versions(tmp_path, "<=2.4").tensorflow == (2, 1)


def test_a_lock_file_wins_over_a_wish(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.4\n")
    (tmp_path / "uv.lock").write_text('[[package]]\nname = "tensorflow-cpu"\nversion = "2.14.0"\n')
    assert project_versions(tmp_path, None).tensorflow == (2, 14)


@pytest.mark.parametrize(
    ("text", "expected", "keras"),
    [
        ("Install\n```\ntensorflow==2.6.0\n```", (2, 6), 2),
        ("- TensorFlow 2.0.0\n- Python 3.5", (2, 0), 2),
        ("[![TensorFlow 2.2](https://img.shields.io/badge/tensorflow-2.2-green)]", (2, 2), 2),
        ("Tested with TensorFlow 2.15 and TensorFlow 2.17.", (2, 17), 3),
        ("For TensorFlow 2.4 or later, and TensorFlow 2.3+.", (2, 21), 3),
        ("TensorFlow 2.0 by example: https://github.com/x/tensorflow/2.3/", (2, 21), 3),
    ],
)
def test_a_readme_says_it_where_nothing_else_does(
    text: str, expected: tuple[int, int], keras: int, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    found = project_versions(tmp_path, None)
    assert (found.tensorflow, found.keras) == (expected, keras)
    (tmp_path / "requirements.txt").write_text("tensorflow==2.18", encoding="utf-8")
    assert project_versions(tmp_path, None).tensorflow == (2, 18)


def test_legacy_keras_is_asked_for_in_the_source(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    text = 'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\nimport tensorflow as tf\n'
    found = project_versions(tmp_path, None, [text])
    assert (found.tensorflow, found.keras) == (NEWEST, 2)
    assert project_versions(tmp_path, None, ["import tensorflow"]).keras == 3


def test_a_neighbour_of_the_project_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "requirements.txt").write_text("tensorflow==2.10\n", "utf-8")
    (tmp_path / "project").mkdir()
    assert project_versions(tmp_path / "project", None).origin == "newest"
    (tmp_path / "requirements.txt").write_text("tensorflow==2.11\n", "utf-8")
    assert project_versions(tmp_path / "project", None).origin == "newest"
    (tmp_path / ".git").mkdir()  # now it is one project with its folder
    assert project_versions(tmp_path / "project", None).tensorflow == (2, 11)


KERAS_2_ONLY = {
    "a weight's name first": "import tensorflow as tf\nclass L(tf.keras.layers.Layer):\n"
    "    def build(self, s):\n        self.w = self.add_weight(\n            'w', shape=s)\n",
    "a legacy optimizer": "import tensorflow as tf\no = tf.keras.optimizers.legacy.Adam()\n",
    "the old name of a rate": "import tensorflow as tf\no = tf.keras.optimizers.SGD(momentum=0.9, lr=0.1)\n",
    "the learning phase": "from tensorflow.keras import backend as K\nx = K.learning_phase()\n",
    "training on generators": "import keras\nm = keras.Sequential()\nm.fit_generator(g)\n",
    "a package that needs it": "import tensorflow as tf\nimport tensorflow_addons as tfa\n",
    "a step on all devices": "import tensorflow as tf\nstrategy.experimental_run_v2(step)\n",
    "a cell's base class": "import tensorflow as tf\nclass C(tf.keras.layers.AbstractRNNCell):\n    pass\n",
}


@pytest.mark.parametrize("case", KERAS_2_ONLY)
def test_sources_that_cannot_run_on_keras_3(case: str, tmp_path: Path) -> None:
    text = KERAS_2_ONLY[case]
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.4\n")
    found = project_versions(tmp_path, None, [text])
    assert (found.tensorflow, found.keras, found.origin) == ((2, 15), 2, "sources")
    assert project_versions(tmp_path, "2.18", [text]).keras == 3
    assert project_versions(tmp_path, None, [text, "import keras\nx = keras.ops.ones(2)\n"]).keras == 3


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\n# o = tf.keras.optimizers.legacy.Adam()\n",
        "import tensorflow as tf\nw = layer.add_weight(shape=[2], name='w')\n",
        "import torch\no = torch.optim.SGD(parameters, lr=0.1)\n",
        "import tensorflow as tf\ntry:\n    import tensorflow_addons as tfa\nexcept ImportError:\n    tfa = None\n",
        "import tensorflow as tf\no = tf.keras.optimizers.SGD(learning_rate=0.1)\nschedule(lr=0.1)\n",
    ],
)
def test_sources_that_say_nothing_of_keras(text: str, tmp_path: Path) -> None:
    assert project_versions(tmp_path, None, [text]).origin == "newest"


@pytest.mark.parametrize("text", ['assert(tf.__version__ == "2.9.3")', "assert tf.__version__.startswith('2.9')"])
def test_a_release_that_a_source_asserts(text: str, tmp_path: Path) -> None:
    source = f"import tensorflow as tf\n{text}\n"
    found = project_versions(tmp_path, None, [source, "print(tf.__version__)\n"])
    assert (found.tensorflow, found.keras, found.origin) == ((2, 9), 2, "sources")
    (tmp_path / "requirements.txt").write_text("tensorflow==2.12.0\n")
    assert project_versions(tmp_path, None, [source]).tensorflow == (2, 12)


@pytest.mark.parametrize(
    ("file", "text", "oldest", "newest", "line"),
    [
        ("requirements.txt", "numpy\ntensorflow>=2.10\n", (2, 10), NEWEST, 2),
        ("requirements.txt", "tensorflow>=2.4,<2.12\n", (2, 4), (2, 11), 1),
        ("requirements.txt", "tensorflow==2.9.1\n", (2, 9), (2, 9), 1),
        ("requirements.txt", "tensorflow~=2.8.0\n", (2, 8), (2, 8), 1),
        ("requirements.txt", "tensorflow==2.*\n", (2, 0), NEWEST, 1),
        ("requirements.txt", "tensorflow<2.12\n", OLDEST, (2, 11), 1),
        ("requirements.txt", "tensorflow<2.5\n", OLDEST, (2, 4), 1),
        ("requirements.txt", "tensorflow==2.8 ; python_version < '3.8'\ntensorflow==2.15\n", (2, 8), (2, 15), 2),
        ("requirements.txt", "tensorflow>=2.4\ntensorflow<2.12\n", (2, 4), (2, 11), 2),
        ("uv.lock", '[[package]]\nname = "tensorflow"\nversion = "2.14.0"\n', (2, 14), (2, 14), 3),
        ("README.md", "Works with TensorFlow 2.4.", (2, 4), NEWEST, 1),
        ("README.md", "Works with TensorFlow 2.15 or newer; measured with TensorFlow 2.15.", OLDEST, NEWEST, 0),
        ("README.md", "It needs TensorFlow (2.15 or newer).\nTried with TensorFlow 2.15 (Keras 2).", OLDEST, NEWEST, 0),
        ("README.md", "\npip install tensorflow==2.6.0", (2, 6), (2, 6), 2),
    ],
)
def test_a_project_may_run_on_a_range_of_releases(
    file: str, text: str, oldest: tuple[int, int], newest: tuple[int, int], line: int, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    found = project_versions(tmp_path, None)
    assert (found.oldest, found.newest, found.line) == (oldest, newest, line)
    assert found.origin == (file if line else "newest")


@pytest.mark.parametrize(
    ("scripts", "newest"),
    [
        ({"package/tools/pip/setup.py": "tensorflow < 2.16.0"}, (2, 15)),
        ({"package/tools/pip/setup.py": "tensorflow < 2.16.0", "plugin/setup.py": "tensorflow < 2.9"}, NEWEST),
        ({"docs/setup.py": "tensorflow < 2.9"}, NEWEST),
        ({"old/setup.py": "tensorflow < 2"}, NEWEST),
        ({"package/setup.py": "tensorflow < 2.16.0", "requirements.txt": "tensorflow==2.10"}, (2, 10)),
    ],
)
def test_the_one_set_up_script_below_a_project(
    scripts: dict[str, str], newest: tuple[int, int], tmp_path: Path
) -> None:
    for path, requirement in scripts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        text = f"setup(install_requires=['{requirement}'])" if path.endswith(".py") else requirement
        (tmp_path / path).write_text(text)
    assert project_versions(tmp_path, None).newest == newest


def test_keras_is_that_of_any_release_of_the_range(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.10\n")
    found = project_versions(tmp_path, None)
    assert found.may_have_keras(2)
    assert found.may_have_keras(3)
    legacy = project_versions(tmp_path, None, ['os.environ["TF_USE_LEGACY_KERAS"] = "1"\n'])
    assert legacy.may_have_keras(2)
    assert not legacy.may_have_keras(3)
    pinned = project_versions(tmp_path, "2.15")
    assert pinned.may_have_keras(2)
    assert not pinned.may_have_keras(3)
    assert not project_versions(tmp_path, None, ["import keras\nx = keras.ops.ones(2)\n"]).may_have_keras(2)


def test_a_text_for_people_binds_nobody(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Works with TensorFlow 2.4.")
    found = project_versions(tmp_path, None)
    assert (found.keras, found.may_have_keras(3)) == (2, True)
    assert found.source == "README.md:1, which binds nobody"


@pytest.mark.parametrize(
    ("file", "text", "oldest", "newest"),
    [
        (
            "setup.py",
            "setup(description='For TensorFlow 2.0.', keywords=['tensorflow', 'TensorFlow 1.x'])",
            OLDEST,
            NEWEST,
        ),
        ("setup.py", "LEAST = '2.2'\nsetup(install_requires=[f'tensorflow>={LEAST}'])", (2, 2), NEWEST),
        ("setup.py", "LEAST = '2.2'\nsetup(install_requires=['tensorflow>=' + LEAST])", (2, 2), NEWEST),
        ("setup.py", "extras_require={'one': ['tensorflow>=1.15,<2'], 'two': ['tensorflow>=2.4']}", (1, 15), NEWEST),
        ("pyproject.toml", '[project]\ndescription = "TensorFlow 2 layers"\n', OLDEST, NEWEST),
        ("pyproject.toml", '[project]\ndependencies = ["tensorflow(>=2.14, !=2.16, <2.20)"]\n', (2, 14), (2, 19)),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\ntensorflow = { version = "~2.13", optional = true }\n',
            (2, 13),
            (2, 13),
        ),
        ("setup.cfg", "[options]\ninstall_requires =\n    tensorflow>=2.3,<2.12\n", (2, 3), (2, 11)),
        ("Pipfile", '[packages]\ntensorflow = "==2.3.0"\n', (2, 3), (2, 3)),
        ("requirements.txt", "tensorflow_gpu==2.2.0\n", (2, 2), (2, 2)),
        ("requirements.txt", "tensorflow-macos==2.10.0\n", (2, 10), (2, 10)),
        ("requirements.txt", "intel-tensorflow==2.4.0\n", (2, 4), (2, 4)),
        ("requirements.txt", "tf-nightly==2.6.0.dev20210401\n", (2, 6), (2, 6)),
        ("requirements.txt", "tensorflow==2.4.0rc1\n", (2, 4), (2, 4)),
        ("environment.yml", "dependencies:\n  - tensorflow 2.4.*\n", (2, 4), (2, 4)),
        ("poetry.lock", '[package.extras]\ntensorflow = ["tensorflow (>=1.0,<2)"]\n', OLDEST, NEWEST),
        ("docs/requirements.txt", "tensorflow==2.3\n", (2, 3), NEWEST),
    ],
)
def test_forms_of_requirements(
    file: str, text: str, oldest: tuple[int, int], newest: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text)
    found = project_versions(tmp_path, None)
    assert (found.oldest, found.newest) == (oldest, newest)


TRIED = {
    "Dockerfile": "FROM tensorflow/tensorflow:2.3.0-gpu\nRUN pip install numpy\n",
    "docker/Dockerfile": "FROM python\nRUN pip install tensorflow==2.3.1\n",
    ".github/workflows/ci.yml": "run: pip install tensorflow==2.3\n",
    ".github/workflows/tests.yml": 'tensorflow-version: ["~=2.2.0", "2.3"]\n',
    ".travis.yml": "env:\n  - TF_VERSION=2.3.1\n",
    "tox.ini": "deps =\n  tf22: tensorflow>=2.2.0,<2.3.0\n  tf23: tensorflow~=2.3.0\n",
    "noxfile.py": "session.install('tensorflow==2.3.0')\n",
    "tests/requirements.txt": "tensorflow==2.3.4\n",
    "requirements-dev.txt": "tensorflow-text==2.3\n",
    "README.md": "pip install tensorflow==2.3\n",
    "demo.ipynb": '"!pip install -q tensorflow==2.3.0\\n",\n"printed tensorflow==2.9"\n',
}


@pytest.mark.parametrize("file", TRIED)
def test_what_it_is_tried_on_is_in_force_where_requirements_have_no_end(file: str, tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("setup(install_requires=['tensorflow>=2.1'])\n")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(TRIED[file])
    found = project_versions(tmp_path, None)
    assert (found.tensorflow, found.keras, found.oldest, found.newest) == ((2, 3), 2, (2, 1), NEWEST)
    assert (found.origin, found.majors) == (file, (2, 3))  # it may run on others: what is safe holds there, too
    (tmp_path / "setup.py").write_text("setup(install_requires=['tensorflow>=2.1,<2.8'])\n")
    assert project_versions(tmp_path, None).tensorflow == (2, 7)


def test_what_it_is_tried_on_alone_binds_nobody(tmp_path: Path) -> None:
    (tmp_path / "tox.ini").write_text(TRIED["tox.ini"])
    found = project_versions(tmp_path, None)
    assert (found.tensorflow, found.oldest, found.newest, found.told) == ((2, 3), (2, 2), NEWEST, True)
    (tmp_path / "README.md").write_text("pip install tensorflow==2.4")
    found = project_versions(tmp_path, None)
    assert (found.tensorflow, found.oldest, found.newest) == ((2, 4), (2, 2), (2, 4))


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\nclass L(tf.keras.layers.Layer):\n    def f(self, x):\n        self.add_metric(x)\n",
        "from keras.layers.core import Dense\n",
        "from keras.utils import np_utils\n",
        "from tensorflow.keras.mixed_precision import experimental\n",
        "import keras\nfrom keras.preprocessing.text import Tokenizer\n",
        "import tensorflow as tf\nstrategy.experimental_run_v2(step)  # keras\n",
        "import tensorflow_addons as tfa\nimport tensorflow as tf\nfrom tensorflow import keras\n",
        "from keras.callbacks import ModelCheckpoint\nc = ModelCheckpoint('x', period=5)\n",
    ],
)
def test_more_that_keras_3_does_not_have(text: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.4\n")
    assert project_versions(tmp_path, None, [text]).majors == (2,)
    asks = text + "import keras\nnew = keras.__version__ >= '3'\n"
    assert project_versions(tmp_path, None, [asks]).majors == (2, 3)  # it has another way for the others


def test_tensorflow_1_alone(tmp_path: Path) -> None:
    old = "import tensorflow as tf\nx = tf.placeholder(tf.float32)\nwith tf.Session() as s:\n    s.run(x)\n"
    found = project_versions(tmp_path, None, [old])
    assert (found.oldest, found.newest, found.origin) == ((1, 0), (1, 15), "sources")
    second = "import tensorflow as tf\n@tf.function\ndef f(x):\n    return x\n"
    assert project_versions(tmp_path, None, [old, second]).origin == "newest"
    compatible = "import tensorflow.compat.v1 as tf\nx = tf.placeholder(tf.float32)\n"
    assert project_versions(tmp_path, None, [compatible]).origin == "newest"


def test_a_release_that_has_what_sources_use_is_in_force(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("setup(install_requires=['tensorflow>=2.1'])\n")
    (tmp_path / "tox.ini").write_text("deps = tensorflow==2.3\n")
    text = "import tensorflow as tf\n@tf.function(reduce_retracing=True)\ndef f(x):\n    return x\n"
    found = project_versions(tmp_path, None, [text])
    assert (found.tensorflow, found.oldest, found.origin) == ((2, 9), (2, 1), "sources")


def test_a_list_of_releases_in_a_text(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Tested with TensorFlow 2.9, 2.10, 2.11 and 2.13 (Python 3.9).")
    assert project_versions(tmp_path, None).tensorflow == (2, 13)


def test_tf_keras_alone_is_keras_2(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("setup(install_requires=['tensorflow>=2.16,<2.19', 'tf-keras'])\n")
    text = "import tensorflow as tf\nimport tf_keras\n"
    found = project_versions(tmp_path, None, [text])
    assert (found.tensorflow, found.keras, found.majors) == ((2, 18), 2, (2,))
    assert project_versions(tmp_path, None, [text, "x = tf.keras.layers.Dense(2)\n"]).keras == 3


def test_folders_of_environments_allow_what_any_of_them_has(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "config" / "environments"
    folder.mkdir(parents=True)
    (folder / "linux.yml").write_text("dependencies:\n  - tensorflow=2.8.1\n")
    (folder / "developer_requirements.txt").write_text("keras==2.12.0\ntensorflow==2.12.0\n")
    found = project_versions(tmp_path, None)
    assert (found.tensorflow, found.oldest, found.newest, found.keras) == ((2, 12), (2, 8), (2, 12), 2)
    assert found.origin == "config/environments/developer_requirements.txt"


def test_a_projects_own_requirements_win_over_those_of_its_environments(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "gpu.yml").write_text("dependencies:\n  - tensorflow=2.8.1\n")
    (tmp_path / "requirements.txt").write_text("tensorflow==2.15\n")
    assert project_versions(tmp_path, None).tensorflow == (2, 15)


@pytest.mark.parametrize(
    ("imports", "oldest", "newest"),
    [
        ("import tensorflow as tf", OLDEST, NEWEST),
        ("from tensorflow.python.keras.layers.preprocessing import hashing", (2, 2), (2, 7)),
        ("from tensorflow.python.keras.preprocessing import sequence", OLDEST, (2, 7)),
        ("import tensorflow.python.keras.layers.wrappers as w", OLDEST, (2, 7)),
        ("from tensorflow.python.keras.layers import (\n    Dense,\n    einsum_dense,\n)", (2, 3), (2, 9)),
        ("from tensorflow.python.framework.ops import Tensor", OLDEST, NEWEST),
        ("from tensorflow.python.framework import tensor", (2, 13), NEWEST),
        (
            "try:\n    from tensorflow.python.keras.preprocessing import text\nexcept ImportError:\n    pass",
            OLDEST,
            NEWEST,
        ),
        ("from tensorflow.python.framework import tensor\nfrom tensorflow.python.keras import premade", OLDEST, NEWEST),
    ],
)
def test_private_modules_say_which_releases_have_them(
    imports: str, oldest: tuple[int, int], newest: tuple[int, int], tmp_path: Path
) -> None:
    found = project_versions(tmp_path, None, [f"{imports}\n"])
    assert (found.oldest, found.newest, found.tensorflow) == (oldest, newest, newest)


def test_what_files_ask_for_stands_against_private_modules(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.9\n")
    found = project_versions(tmp_path, None, ["from tensorflow.python.keras import preprocessing\n"])
    assert (found.oldest, found.newest) == ((2, 9), (2, 9))


def test_sources_of_which_nothing_says_the_release_run_on_those_that_have_what_they_use(tmp_path: Path) -> None:
    found = project_versions(tmp_path, None, ["@tf.function(reduce_retracing=True)\ndef f(x):\n    return x\n"])
    assert (found.oldest, found.newest, found.origin) == ((2, 9), NEWEST, "newest")


def test_every_environment_that_a_folder_offers_counts(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.11.1\n", "utf-8")
    (tmp_path / "conda-cpu.yml").write_text("dependencies:\n  - pip:\n    - tensorflow==2.1.0\n", "utf-8")
    found = project_versions(tmp_path, None)
    assert (found.tensorflow, found.oldest, found.newest) == ((2, 11), (2, 1), (2, 11))


@pytest.mark.parametrize(
    ("file", "text", "newest"),
    [
        ("requirements.txt", "tf-nightly-2.0-preview\n", OLDEST),
        ("setup.py", "setup(install_requires=['tf-nightly-gpu-2.0-preview'])\n", OLDEST),
        ("README.md", "Digits on tf2.0-preview (TensorFlow 2.0)\n", OLDEST),
        ("README.md", "Needs TensorFlow 2.0 Alpha.\n", OLDEST),
        ("README.md", "Needs TensorFlow 2.0.\n", NEWEST),
        ("README.md", "Begun with TensorFlow 2.0 alpha, runs on TensorFlow 2.3.\n", NEWEST),
    ],
)
def test_a_preview_of_the_second_release_is_none_that_came_after(
    file: str, text: str, newest: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text)
    assert project_versions(tmp_path, None).newest == newest
