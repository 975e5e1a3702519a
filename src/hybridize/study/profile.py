"""What a study looks for, as data: an API's names, how it is applied, its arguments, and the codebook's words for it.

A profile is a TOML file. Those of TensorFlow, JAX, PyTorch and Numba ship; another is a file of the user's.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


class ProfileError(ValueError):
    """A profile that can't be used; the message is one line that names the file and the key."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a study looks for.

    Args:
        name: of the shipped profile, or the file's name without its ending.
        title: the framework, for people.
        spellings: dotted names as users customarily write them; the first stands for all in texts (`keyword`).
        roots: customary root names and the modules that they may stand for; any other stands for itself.
        packages: distributions whose changed requirement counts as a library upgrade.
        targets: keyword arguments that carry the function that is wrapped, where it is not the first positional one.
        positional: names of the positional arguments, in order, the wrapped function's included.
        signature: the argument that states the types of the inputs; giving it counts as a change of its own.
        signature_first: a first argument that can be no function is the signature.
        methods: methods that apply the API to their object in place (`model.compile()`), where the file imports a root.
        method_arguments: the only arguments that such a call may have; they tell it from namesakes.
        arguments: words that betray a changed argument on a line without the name itself.
        codebook: how the built-in codebook reads for this API: a `title`, texts to `replace`, names to `retire`.
    """

    name: str
    title: str
    spellings: tuple[str, ...]
    roots: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    targets: tuple[str, ...] = ("func", "fun", "model")
    positional: tuple[str, ...] = ()
    signature: str | None = None
    signature_first: bool = False
    methods: tuple[str, ...] = ()
    method_arguments: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    codebook: Mapping[str, Any] = field(default_factory=dict)

    @property
    def keyword(self) -> str:
        """The literal that stands for the API in texts."""
        return self.spellings[0]

    def as_json(self) -> str:
        """The whole profile, as the database keeps it: equal profiles give equal texts."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Profile:
        """The profile that `as_json` wrote."""
        data = json.loads(text)
        return _parse(data, data.pop("name"), "the database's profile")


def shipped() -> tuple[str, ...]:
    """The names of the profiles that ship."""
    folder = files("hybridize.study").joinpath("data", "profiles")
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


@cache
def built_in(name: str = "tensorflow") -> Profile:
    """A shipped profile by its name."""
    text = files("hybridize.study").joinpath("data", "profiles", f"{name}.toml").read_text(encoding="utf-8")
    return _parse(tomllib.loads(text), name, f"profile {name}")


def load(name_or_file: str) -> Profile:
    """A shipped profile by its name, or one of a TOML file.

    Raises:
        ProfileError: there is no such profile, or it breaks a rule.
    """
    if name_or_file in shipped():
        return built_in(name_or_file)
    path = Path(name_or_file)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ProfileError(f"no profile {name_or_file!r}: give {', '.join(shipped())} or a TOML file") from None
    except OSError as error:
        raise ProfileError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path}: no valid TOML: {error}") from error
    return _parse(data, path.stem, str(path))


def for_keyword(keyword: str) -> Profile:
    """The shipped profile that a dotted name leads, or a plain one of that name alone, which a shipped one may tell the
    meaning of the first part of: the `tf` of `tf.py_function`.

    Raises:
        ProfileError: it is no dotted name.
    """
    for name in shipped():
        if built_in(name).keyword == keyword:
            return built_in(name)
    if not _DOTTED.fullmatch(keyword):
        raise ProfileError(f"not a dotted name: {keyword!r}")
    root = keyword.partition(".")[0]
    data: dict[str, object] = {"title": keyword, "spellings": [keyword], "packages": [root]}
    for known in map(built_in, shipped()):
        if root in known.roots:
            data |= {"packages": known.packages, "roots": {root: known.roots[root]}}
    return _parse(data, keyword, "--keyword")


_FIELDS: Final = {f.name for f in fields(Profile)} - {"name"}
_LISTS: Final = _FIELDS - {"title", "roots", "signature", "signature_first", "codebook"}
_CODEBOOK: Final = {"title": str, "replace": dict, "retire": list}


def _parse(data: Mapping[str, Any], name: str, source: str) -> Profile:
    for key, value in data.items():
        if key not in _FIELDS:
            raise ProfileError(f"{source}: unknown key {key!r}; there are {', '.join(sorted(_FIELDS))}")
        if key in _LISTS and not _texts(value):
            raise ProfileError(f"{source}: {key} must be a list of texts")
    if not isinstance(data.get("title"), str) or not data.get("spellings"):
        raise ProfileError(f"{source}: needs a title and spellings")
    for spelling in data["spellings"]:
        if not _DOTTED.fullmatch(spelling):
            raise ProfileError(f"{source}: not a dotted name: {spelling!r}")
    for key in (*_LISTS - {"spellings"},):
        for word in data.get(key, ()):
            if key != "packages" and not word.isidentifier():
                raise ProfileError(f"{source}: {key}: not a name: {word!r}")
    roots = data.get("roots", {})
    if not isinstance(roots, Mapping) or not all(_texts(modules) for modules in roots.values()):
        raise ProfileError(f"{source}: roots must give a list of modules for each root")
    signature, first = data.get("signature"), data.get("signature_first", False)
    if not (signature is None or isinstance(signature, str)) or not isinstance(first, bool):
        raise ProfileError(f"{source}: signature must be a text, signature_first true or false")
    codebook = data.get("codebook", {})
    if not isinstance(codebook, Mapping) or not all(
        isinstance(value, _CODEBOOK.get(key, ())) for key, value in codebook.items()
    ):
        raise ProfileError(f"{source}: codebook may have a title, a table replace and a list retire")
    lists = {key: tuple(data[key]) for key in _LISTS if key in data}
    return Profile(
        name,
        data["title"],
        roots={root: tuple(modules) for root, modules in roots.items()},
        signature=signature,
        signature_first=first,
        codebook=codebook,
        **lists,
    )


def _texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) and item for item in value)
