"""Vectors of words that others trained: GloVe's and fastText's files, by their names.

Nothing is fetched: a file is read from MXNET_HOME/embeddings/<name> once it lies there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from minimx.contrib.text.embedding import _TokenEmbedding, embeddings, register
from minimx.contrib.text.vocab import Vocabulary
from minimx.core.arrays.array import NDArray
from minimx.core.errors import DataError, did_you_mean
from minimx.core.knobs import knobs
from minimx.nd import zeros

_GLOVE = """
    42B.300d 6B.50d 6B.100d 6B.200d 6B.300d 840B.300d
    twitter.27B.25d twitter.27B.50d twitter.27B.100d twitter.27B.200d
"""
#: Wikipedia by language; what begins with a hyphen has no dot before it.
_WIKI = """
    aa ab ace ady af ak als am ang an arc ar arz ast as av ay azb az bar bat_smg ba
    bcl be bg bh bi bjn bm bn bo bpy br bs bug bxr ca cbk_zam cdo ceb ce cho chr ch
    chy ckb co crh cr csb cs cu cv cy da de diq dsb dv dz ee el eml en eo es et eu
    ext fa ff fiu_vro fi fj fo frp frr fr fur fy gag gan ga gd glk gl gn gom got gu
    gv hak ha haw he hif hi ho hr hsb ht hu hy hz ia id ie ig ii ik ilo io is it iu
    jam ja jbo jv kaa kab ka kbd kg ki kj kk kl km kn koi ko krc kr ksh ks ku kv kw
    ky lad la lbe lb lez lg lij li lmo ln lo lrc ltg lt lv mai map_bms mdf mg mhr mh
    min mi mk ml mn mo mrj mr ms mt multi.ar multi.bg multi.ca multi.cs multi.da
    multi.de multi.el multi.en multi.es multi.et multi.fi multi.fr multi.he multi.hr
    multi.hu multi.id multi.it multi.mk multi.nl multi.no multi.pl multi.pt multi.ro
    multi.ru multi.sk multi.sl multi.sv multi.tr multi.uk multi.vi mus mwl my myv
    mzn nah nap na nds_nl nds ne -news-300d-1M-subword -news-300d-1M new ng nl nn no
    nov nrm nso nv ny oc olo om or os pag pam pap pa pcd pdc pfl pih pi pl pms pnb
    pnt ps pt qu rm rmy rn roa_rup roa_tara ro rue ru rw sah sa scn sco sc sd se sg
    sh simple si sk sl sm sn so sq srn sr ss stq st su sv sw szl ta tcy tet te tg th
    ti tk tl tn to tpi tr ts tt tum tw ty tyv udm ug uk ur uz vec vep ve vi vls vo
    war wa wo wuu xal xh xmf yi yo za zea zh_classical zh_min_nan zh zh_yue zu
"""


class _Pretrained(_TokenEmbedding):
    """The vectors of a file with a known name.

    pretrained_file_name: one of `get_pretrained_file_names`. embedding_root: the folder
    of folders where the files lie. vocabulary: keep its words only, under its numbers.
    kwargs: as for `Vocabulary`.
    """

    source: ClassVar[str]
    pretrained_file_names: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        pretrained_file_name: str,
        embedding_root: str | os.PathLike[str] | None = None,
        init_unknown_vec: Callable[..., NDArray] = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        kind = type(self).__name__.lower()
        known = self.pretrained_file_names
        if pretrained_file_name not in known:
            raise KeyError(
                f"{kind} has no file {pretrained_file_name!r}."
                f"{did_you_mean(pretrained_file_name, known)} "
                f"get_pretrained_file_names({kind!r}) lists them."
            )
        home = Path(str(knobs.MXNET_HOME)) / "embeddings"
        root = home if embedding_root is None else Path(embedding_root)
        path = root.expanduser() / kind / pretrained_file_name
        if not path.exists():
            raise DataError(
                f"{path} is not there. Fetch it from {self.source}, unpack it, and put "
                "it in this place."
            )
        super().__init__(**kwargs)
        self._load_embedding(str(path), " ", init_unknown_vec)
        if vocabulary is not None:
            self._take_vectors([self], vocabulary)


@register
class GloVe(_Pretrained):
    """Vectors from counts of words beside each other (Pennington et al., 2014)."""

    source = "https://nlp.stanford.edu/projects/glove/"
    pretrained_file_names = tuple(f"glove.{name}.txt" for name in _GLOVE.split())

    def __init__(
        self, pretrained_file_name: str = "glove.840B.300d.txt", **kwargs: Any
    ) -> None:
        super().__init__(pretrained_file_name, **kwargs)


@register
class FastText(_Pretrained):
    """Vectors that are sums over pieces of a word (Bojanowski et al., 2017)."""

    source = "https://fasttext.cc/"
    pretrained_file_names = (
        "crawl-300d-2M.vec",
        *(f"wiki{'' if name[0] == '-' else '.'}{name}.vec" for name in _WIKI.split()),
    )

    def __init__(
        self, pretrained_file_name: str = "wiki.simple.vec", **kwargs: Any
    ) -> None:
        super().__init__(pretrained_file_name, **kwargs)


def get_pretrained_file_names(
    embedding_name: str | None = None,
) -> dict[str, list[str]] | list[str]:
    """The names of files of an embedding; of all, by name, if none is given.

    Raises KeyError for an embedding that has no such files.
    """
    named = {
        name: list(embeddings[name].pretrained_file_names)  # type: ignore[attr-defined]
        for name in embeddings
        if issubclass(embeddings[name], _Pretrained)
    }
    if embedding_name is None:
        return named
    if embedding_name not in named:
        raise KeyError(
            f"no files of an embedding {embedding_name!r} are known, only those of "
            f"{', '.join(named)}."
        )
    return named[embedding_name]
