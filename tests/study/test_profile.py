"""What a study looks for is data: the shipped profiles, one of the user's, and how the codebook reads for each."""

from __future__ import annotations

import pytest

from hybridize.study import codebook
from hybridize.study.keyword import Keyword
from hybridize.study.profile import Profile, ProfileError, built_in, for_keyword, load, shipped
from hybridize.study.uses import find_uses


def test_four_profiles_ship_and_survive_the_database():
    assert shipped() == ("jax", "numba", "tensorflow", "torch")
    for name in shipped():
        assert Profile.from_json(built_in(name).as_json()) == built_in(name)


def test_a_profile_of_the_users(tmp_path):
    path = tmp_path / "mlx.toml"
    path.write_text('title = "MLX"\nspellings = ["mx.compile"]\n[roots]\nmx = ["mlx.core"]\n')
    profile = load(str(path))
    assert (profile.name, profile.keyword) == ("mlx", "mx.compile")
    found = find_uses("import mlx.core as m\n@m.compile\ndef f(): pass\n", Keyword(profile))
    assert [use.owner for use in found.uses] == ["f"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("title = 1", "needs a title and spellings"),
        ('title = "x"\nspellings = ["jit"]', "not a dotted name: 'jit'"),
        ('title = "x"\nspellings = ["a.b"]\ncolour = "red"', "unknown key 'colour'"),
        ('title = "x"\nspellings = "a.b"', "spellings must be a list of texts"),
        ('title = "x"\nspellings = ["a.b"]\narguments = ["a b"]', "arguments: not a name: 'a b'"),
        ('title = "x"\nspellings = ["a.b"]\nsignature_first = 1', "signature_first true or false"),
        ('title = "x"\nspellings = ["a.b"]\n[roots]\na = "b"', "roots must give a list"),
        ('title = "x"\nspellings = ["a.b"]\n[codebook]\nretire = 1', "codebook may have"),
        ("title = ", "no valid TOML"),
    ],
)
def test_a_mistake_names_the_file_and_the_key(tmp_path, text, complaint):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(ProfileError, match=complaint) as caught:
        load(str(path))
    assert str(caught.value).startswith(str(path))


def test_a_keyword_leads_its_profile_or_makes_a_plain_one():
    assert for_keyword("torch.compile") is built_in("torch")
    assert for_keyword("mine.jit").spellings == ("mine.jit",)


@pytest.mark.parametrize("name", ["jax", "numba", "torch"])
def test_the_codebook_speaks_of_the_profiles_api(name):
    book = codebook.of_profile(built_in(name))
    menu = [code for code in book.codes if not code.retired]
    assert book.keyword == built_in(name).keyword
    assert not [code for code in menu if "tf." in code.name + code.definition or "TFLite" in code.name]
    added = next(code for code in menu if code.suggestion == "add_decorator")
    assert added.name == f"Add {book.keyword} decorator"
    assert {code.role for code in book.codes} == {code.role for code in codebook.built_in().codes}


def test_tensorflows_codebook_is_the_studys():
    assert codebook.of_profile(built_in()).codes == codebook.built_in().codes
