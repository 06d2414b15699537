"""Where stored weights come from: the folder MXNET_HOME/models, else the repository.

A file is called NAME-HASH.params, with the first eight digits of its SHA-1 sum, and is
trusted only if its whole sum is right. What is missing is fetched as
gluon/models/NAME-HASH.zip from MXNET_GLUON_REPO, unpacked into a file of its own, and
given its name when it is whole and right; so several processes may ask at once.
"""

from __future__ import annotations

import os
import uuid
import zipfile
import zlib
from pathlib import Path
from typing import Any

from minimx.core.errors import ArgumentError, DataError, did_you_mean
from minimx.core.knobs import knobs
from minimx.gluon.utils import check_sha1, download, file_sha1, repository_url

#: SHA-1 sums of the weights that MXNet's project published.
_model_sha1 = {
    "alexnet": "44335d1f0046b328243b32a26a4fbd62d9057b45",
    "densenet121": "f27dbf2dbd5ce9a80b102d89c7483342cd33cb31",
    "densenet161": "b6c8a95717e3e761bd88d145f4d0a214aaa515dc",
    "densenet169": "2603f878403c6aa5a71a124c4a3307143d6820e9",
    "densenet201": "1cdbc116bc3a1b65832b18cf53e1cb8e7da017eb",
    "inceptionv3": "ed47ec45a937b656fcc94dabde85495bbef5ba1f",
    "mobilenet0.25": "9f83e440996887baf91a6aff1cccc1c903a64274",
    "mobilenet0.5": "8e9d539cc66aa5efa71c4b6af983b936ab8701c3",
    "mobilenet0.75": "529b2c7f4934e6cb851155b22c96c9ab0a7c4dc2",
    "mobilenet1.0": "6b8c5106c730e8750bcd82ceb75220a3351157cd",
    "mobilenetv2_1.0": "36da4ff1867abccd32b29592d79fc753bca5a215",
    "mobilenetv2_0.75": "e2be7b72a79fe4a750d1dd415afedf01c3ea818d",
    "mobilenetv2_0.5": "aabd26cd335379fcb72ae6c8fac45a70eab11785",
    "mobilenetv2_0.25": "ae8f9392789b04822cbb1d98c27283fc5f8aa0a7",
    "resnet18_v1": "a0666292f0a30ff61f857b0b66efc0228eb6a54b",
    "resnet34_v1": "48216ba99a8b1005d75c0f3a0c422301a0473233",
    "resnet50_v1": "0aee57f96768c0a2d5b23a6ec91eb08dfb0a45ce",
    "resnet101_v1": "d988c13d6159779e907140a638c56f229634cb02",
    "resnet152_v1": "671c637a14387ab9e2654eafd0d493d86b1c8579",
    "resnet18_v2": "a81db45fd7b7a2d12ab97cd88ef0a5ac48b8f657",
    "resnet34_v2": "9d6b80bbc35169de6b6edecffdd6047c56fdd322",
    "resnet50_v2": "ecdde35339c1aadbec4f547857078e734a76fb49",
    "resnet101_v2": "18e93e4f48947e002547f50eabbcc9c83e516aa6",
    "resnet152_v2": "f2695542de38cf7e71ed58f02893d82bb409415e",
    "squeezenet1.0": "264ba4970a0cc87a4f15c96e25246a1307caf523",
    "squeezenet1.1": "33ba0f93753c83d86e1eb397f38a667eaf2e9376",
    "vgg11": "dd221b160977f36a53f464cb54648d227c707a05",
    "vgg11_bn": "ee79a8098a91fbe05b7a973fed2017a6117723a8",
    "vgg13": "6bc5de58a05a5e2e7f493e2d75a580d83efde38c",
    "vgg13_bn": "7d97a06c3c7a1aecc88b6e7385c2b373a249e95e",
    "vgg16": "e660d4569ccb679ec68f1fd3cce07a387252a90a",
    "vgg16_bn": "7f01cf050d357127a73826045c245041b0df7363",
    "vgg19": "ad2f660d101905472b83590b59708b71ea22b2e5",
    "vgg19_bn": "f360b758e856f1074a85abd5fd873ed1d98297c3",
}
#: No network of the zoo has more parameters; a larger claim is a mistake or a trap.
MAX_BYTES = 1 << 30
CHUNK = 1 << 20


def short_hash(name: str) -> str:
    """The eight digits in the name of a file. Raises ArgumentError if none is known."""
    if name not in _model_sha1:
        raise ArgumentError(
            f"there are no stored weights called {name!r}; there are: "
            f"{', '.join(_model_sha1)}." + did_you_mean(name, _model_sha1)
        )
    return _model_sha1[name][:8]


def get_model_file(name: str, root: Any = None) -> str:
    """The path of stored weights, which are fetched if they are not there.

    root: the folder where they are kept, MXNET_HOME/models by default.
    Raises DataError if they cannot be fetched, or are not the ones that were published.
    """
    file = f"{name}-{short_hash(name)}"
    place = _folder(root) / f"{file}.params"
    changed = place.exists()
    if changed and check_sha1(place, _model_sha1[name]):
        return str(place)
    url = repository_url(f"gluon/models/{file}.zip")
    mine = place.with_name(f"{place.name}.{uuid.uuid4().hex}")
    archive = mine.with_name(f"{mine.name}.zip")
    try:
        download(url, path=archive, overwrite=True)
        _unpack(archive, f"{file}.params", mine)
        _check(mine, _model_sha1[name], url)
        mine.replace(place)
    except DataError as reason:
        what = "is not the file that was published" if changed else "is missing"
        raise DataError(
            f"the weights of {name} cannot be had: {place} {what}, and it could not be "
            f"fetched ({reason}) Put the file there by hand, point MXNET_GLUON_REPO to "
            "a copy of the repository, or make the network with pretrained=False and "
            "load weights of yours with load_parameters."
        ) from reason
    finally:
        archive.unlink(missing_ok=True)
        mine.unlink(missing_ok=True)
    return str(place)


def purge(root: Any = None) -> None:
    """Delete all weights that are kept in a folder, MXNET_HOME/models by default."""
    for place in _folder(root).glob("*.params"):
        place.unlink()


def _folder(root: Any) -> Path:
    given: Any = os.path.join(str(knobs.MXNET_HOME), "models") if root is None else root
    return Path(given).expanduser()


def _unpack(archive: Path, member: str, target: Path) -> None:
    """Write one file of an archive; whatever else it holds is left alone."""
    try:
        with zipfile.ZipFile(archive) as bundle:
            size = bundle.getinfo(member).file_size
            if size > MAX_BYTES:
                raise DataError(
                    f"the archive says that {member} has {size:,} bytes, more than any "
                    "network of the zoo."
                )
            with bundle.open(member) as source, open(target, "wb") as out:
                left = size
                while left and (chunk := source.read(min(CHUNK, left))):
                    out.write(chunk)
                    left -= len(chunk)
    except KeyError:
        raise DataError(f"the archive holds no {member}.") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as damage:
        raise DataError(f"the archive is damaged: {damage}.") from damage


def _check(file: Path, sha1: str, url: str) -> None:
    found = file_sha1(file)
    if found != sha1:
        raise DataError(
            f"{url} was fetched, but the SHA-1 sum of its weights is {found}, not "
            f"{sha1}; they were changed or damaged, and thrown away."
        )
