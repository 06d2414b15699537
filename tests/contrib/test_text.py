"""Vocabularies, and vectors of words."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx as mx
from minimx import nd
from minimx.contrib import text
from minimx.core.errors import ArgumentError, DataError

Vocabulary = text.vocab.Vocabulary


@given(
    st.dictionaries(st.text("abc", min_size=1), st.integers(1, 5)),
    st.none() | st.integers(0, 4),
    st.integers(1, 3),
)
def test_a_vocabulary_ranks_words_and_finds_them_again(
    counts: dict[str, int], most: int | None, least: int
) -> None:
    words = Vocabulary(counts, most, least, reserved_tokens=["a"])
    ranked = words.idx_to_token[2:]
    assert words.idx_to_token[:2] == ["<unk>", "a"]
    assert ranked == sorted(ranked, key=lambda word: (-counts[word], word))
    assert all(counts[word] >= least for word in ranked)
    assert most is None or len(ranked) <= most
    assert words.to_tokens(words.to_indices(words.idx_to_token)) == words.idx_to_token
    assert words.to_indices("zebra") == 0


def test_what_is_no_vocabulary() -> None:
    for settings in ({"min_freq": 0}, {"reserved_tokens": ["<unk>"]}):
        with pytest.raises(AssertionError, match="Vocabulary"):
            Vocabulary(Counter("ab"), **settings)
    with pytest.raises(ArgumentError, match="to_tokens: 7"):
        Vocabulary().to_tokens([0, 7])


def test_words_are_counted() -> None:
    known = Counter({"life": 1})
    found = text.utils.count_tokens_from_str(
        "*Life*is*\n*is*", r"\*", "\n", True, known
    )
    assert found is known == Counter({"life": 2, "is": 2})


def written(folder: Path, lines: list[str]) -> str:
    path = folder / "vectors.txt"
    path.write_text("\n".join(lines), encoding="utf8")
    return str(path)


def test_vectors_of_a_file(tmp_path: Path) -> None:
    lines = ["2 2", "a 1 2", "b 3 4", "a 5 6"]
    with pytest.warns(UserWarning, match=r"'a' has a vector|header"):
        found = text.embedding.create(
            "CustomEmbedding", pretrained_file_path=written(tmp_path, lines),
            init_unknown_vec=nd.ones,
        )  # fmt: skip
    assert (len(found), found.vec_len, found.to_indices(["b", "c"])) == (3, 2, [2, 0])
    assert found.idx_to_vec.asnumpy().tolist() == [[1, 1], [1, 2], [3, 4]]
    assert found.get_vecs_by_tokens("A").asnumpy().tolist() == [1, 1]
    upper = found.get_vecs_by_tokens(["A", "b"], lower_case_backup=True)
    assert upper.asnumpy().tolist() == [[1, 2], [3, 4]]
    found.update_token_vectors(["a", "<unk>"], nd.array([[7, 7], [8, 8]]))
    assert found.get_vecs_by_tokens(["a", "z"]).asnumpy().tolist() == [[7, 7], [8, 8]]
    with pytest.raises(ArgumentError, match="'z' is not here"):
        found.update_token_vectors("z", nd.ones(2))
    with pytest.raises(AssertionError, match="shape"):
        found.update_token_vectors("a", nd.ones(3))


def test_vectors_join_for_the_words_of_a_vocabulary(tmp_path: Path) -> None:
    one = text.embedding.CustomEmbedding(written(tmp_path, ["a 1 2", "b 3 4"]))
    two = text.embedding.CustomEmbedding(written(tmp_path, ["b 5 6 7"]))
    words = Vocabulary({"b": 2, "c": 1})
    both = text.embedding.CompositeEmbedding(words, [one, two])
    assert both.token_to_idx == words.token_to_idx
    np.testing.assert_array_equal(
        both.idx_to_vec.asnumpy(), [[0] * 5, [3, 4, 5, 6, 7], [0] * 5]
    )
    with mx.util.np_array(True):
        again = text.embedding.CustomEmbedding(written(tmp_path, ["b 5 6"]))
    assert isinstance(again.idx_to_vec, mx.np.ndarray)
    with pytest.raises(AssertionError, match="Vocabulary"):
        text.embedding.CompositeEmbedding(["b"], one)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lines", "said"),
    [(["a 1 2", "b 1"], "b|header"), (["a 1 2", "b"], "line 2"), (["a x"], "line 1"),
     (["a 1 2", "b 1 2 3"], r"\[2, 3\]"), ([], "lengths")],
)  # fmt: skip
def test_files_without_vectors(tmp_path: Path, lines: Any, said: str) -> None:
    expected: Any = UserWarning if "header" in said else AssertionError
    check: Any = pytest.warns if "header" in said else pytest.raises
    with check(expected, match=said):
        text.embedding.CustomEmbedding(written(tmp_path, lines))
    with pytest.raises(DataError, match="cannot read"):
        text.embedding.CustomEmbedding(str(tmp_path / "absent"))


def test_trained_vectors_are_read_from_home(tmp_path: Path) -> None:
    folder = tmp_path / "embeddings" / "glove"
    folder.mkdir(parents=True)
    (folder / "glove.6B.50d.txt").write_text("one 1 2\ntwo 3 4\n")
    with mx.knobs(MXNET_HOME=str(tmp_path)):
        found = mx.contrib.text.embedding.create(
            "glove", pretrained_file_name="glove.6B.50d.txt"
        )
        with pytest.raises(mx.errors.DataError, match=r"nlp\.stanford"):
            mx.contrib.text.embedding.create("glove")
    assert found.get_vecs_by_tokens("two").asnumpy().tolist() == [3, 4]
