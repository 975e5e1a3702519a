"""Options: defaults, the section of `pyproject.toml`, the command line, and one clear line for a mistake."""

import os
from dataclasses import fields
from pathlib import Path

import pytest

from hybridize.config import OPTIONS, Config, ConfigError, load_config


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    return file


def section(folder: Path, *lines: str) -> Path:
    return write(folder, "\n".join(["[tool.hybridize]", *lines]))


def test_without_a_file_everything_is_default(tmp_path: Path) -> None:
    config = load_config([tmp_path])
    assert config == Config()
    assert set(config.origins.values()) == {"default"}
    assert config.directory is None


def test_every_option_is_a_field_and_every_field_an_option() -> None:
    names = [option.field for option in OPTIONS]
    assert names == [
        item.name for item in fields(Config) if item.name not in ("origins", "directory", "notes", "without")
    ]
    assert list(Config().values()) == [option.name for option in OPTIONS]


def test_all_options_from_a_file(tmp_path: Path) -> None:
    file = section(
        tmp_path,
        'select = ["hyb1", "some-rule"]',
        'ignore = ["R201"]',
        'per-file-ignores = { "tests/**" = ["P1", "recursive"] }',
        'exclude = ["legacy/", "*_pb2.py"]',
        'src = ["lib"]',
        'tensorflow-version = "2.16"',
        "follow-type-hints = false",
        "speculate = false",
        "boolean-literals = true",
        "strict-literals = true",
        "test-entry-points = false",
        "infer-input-signatures = true",
        "jit-compile = true",
        "all-safe = true",
        'confidence = "declared"',
        "all-information = true",
        'world = "open"',
        "jobs = 3",
        "cache = false",
        'cache-dir = "kept"',
    )
    config = load_config([tmp_path])
    assert config == Config(
        select=("hyb1", "some-rule"),
        ignore=("R201",),
        per_file_ignores=(("tests/**", ("P1", "recursive")),),
        exclude=("legacy/", "*_pb2.py"),
        src=(str(tmp_path / "lib"),),
        tensorflow_version="2.16",
        follow_type_hints=False,
        speculate=False,
        boolean_literals=True,
        strict_literals=True,
        test_entry_points=False,
        infer_input_signatures=True,
        jit_compile=True,
        all_safe=True,
        confidence="declared",
        all_information=True,
        world="open",
        jobs=3,
        cache=False,
        cache_dir=str(tmp_path / "kept"),
    )
    assert set(config.origins.values()) == {str(file)}
    assert config.directory == tmp_path


def test_the_nearest_file_with_a_section_counts(tmp_path: Path) -> None:
    section(tmp_path, 'src = ["one"]')
    section(tmp_path / "a", 'src = ["two"]')
    write(tmp_path / "a" / "b", "[project]\nname = 'hybridize-me'\n")
    (tmp_path / "a" / "b" / "module.py").touch()
    assert load_config([tmp_path / "a" / "b" / "module.py"]).src == (str(tmp_path / "a" / "two"),)
    assert load_config([tmp_path / "a" / "b", tmp_path]).src == (str(tmp_path / "a" / "two"),)
    assert load_config([tmp_path]).src == (str(tmp_path / "one"),)


def test_a_given_file_counts_alone(tmp_path: Path) -> None:
    section(tmp_path, "all-safe = true")
    other = section(tmp_path / "other", "speculate = false")
    config = load_config([tmp_path], config_file=other)
    assert (config.all_safe, config.speculate) == (False, False)
    empty = write(tmp_path / "empty", "")
    with pytest.raises(ConfigError, match=r"has no section \[tool\.hybridize\]"):
        load_config([tmp_path], config_file=empty)


def test_the_command_line_wins_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = section(tmp_path, 'confidence = "declared"', "speculate = false")
    monkeypatch.chdir(tmp_path)
    config = load_config(
        [tmp_path], {"confidence": "assumed", "src": ["here"], "strict_literals": True, "all-safe": None}
    )
    assert (config.confidence, config.speculate, config.all_safe) == ("assumed", False, False)
    assert config.src == (os.path.join(os.getcwd(), "here"),)
    assert config.origins["confidence"] == config.origins["src"] == config.origins["strict-literals"] == "command line"
    assert config.origins["speculate"] == str(file)
    assert config.origins["all-safe"] == "default"


def test_somebody_elses_broken_file_is_none_of_our_business(tmp_path: Path) -> None:
    write(tmp_path, "[project\n")
    assert load_config([tmp_path]) == Config()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("world = 1", 'tool.hybridize.world must be "open" or "closed", not 1'),
        ('words = "open"', 'tool.hybridize.words: unknown option; did you mean "world"?'),
        ("follow_type_hints = true", 'did you mean "follow-type-hints"?'),
        ("qqqq = 1", "tool.hybridize.qqqq: unknown option; `hybridize config` lists all options"),
        ('all-safe = "yes"', 'tool.hybridize.all-safe must be true or false, not "yes"'),
        ("confidence = true", 'tool.hybridize.confidence must be "seen", "declared" or "assumed", not true'),
        ("speculate = 1", "tool.hybridize.speculate must be true or false, not 1"),
        ('exclude = "a"', 'tool.hybridize.exclude must be a list of strings, not "a"'),
        ("exclude = [1]", "tool.hybridize.exclude must be a list of strings, not [1]"),
        ('select = ["R 1"]', 'tool.hybridize.select must be a list of rule codes or names, not ["R 1"]'),
        ("src = [[]]", "tool.hybridize.src must be a list of paths, not [[]]"),
        ("exclude = {a = 1}", "tool.hybridize.exclude must be a list of strings, not a table"),
        ("tensorflow-version = 2.16", 'tool.hybridize.tensorflow-version must be a version such as "2.16", not 2.16'),
        ('tensorflow-version = "two\\nlines"', 'not "two\\nlines"'),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_key(tmp_path: Path, line: str, message: str) -> None:
    file = section(tmp_path, line)
    with pytest.raises(ConfigError) as caught:
        load_config([tmp_path])
    text = str(caught.value)
    assert text.startswith(f"{file}: tool.hybridize.")
    assert text.endswith(message)
    assert "\n" not in text


def test_mistakes_on_the_command_line_name_the_option() -> None:
    with pytest.raises(ConfigError, match='--world must be "open" or "closed", not "ajar"'):
        load_config([], {"world": "ajar"})


def test_a_number_and_a_path(tmp_path: Path) -> None:
    section(tmp_path, "jobs = 4", 'cache-dir = "cache"', "cache = false")
    config = load_config([tmp_path])
    assert (config.jobs, config.cache_dir, config.cache) == (4, str(tmp_path / "cache"), False)
    assert load_config([tmp_path], {"jobs": "2"}).jobs == 2
    for wrong in ("-1", "x", True, 1.5):
        with pytest.raises(ConfigError, match="--jobs must be a whole number"):
            load_config([tmp_path], {"jobs": wrong})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tool.hybridize\n", "is not valid TOML: "),
        (b"[tool.hybridize]\n# \xe9\n", "is not valid TOML: "),
        (b"[tool]\nhybridize = 3\n", "tool.hybridize must be a table, not 3"),
    ],
)
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_config([tmp_path])
    assert str(caught.value).startswith(f"{file}: {message}")
    assert "\n" not in str(caught.value)


def test_a_path_that_does_not_exist_still_finds_the_file_above(tmp_path: Path) -> None:
    section(tmp_path, "all-safe = true")
    assert load_config([tmp_path / "no" / "such.py"]).all_safe
