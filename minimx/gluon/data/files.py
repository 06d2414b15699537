"""The files of data sets: looked for in a folder, fetched from where MXNet has them."""

from __future__ import annotations

import os
from pathlib import Path

from minimx.core.errors import DataError
from minimx.core.knobs import knobs
from minimx.gluon.utils import check_sha1, download, repository_url

#: A file's name, and its SHA-1 sum or None if it is not known.
Known = tuple[str, str | None]


def folder(root: str | os.PathLike[str] | None, name: str) -> Path:
    """Where the files of a data set are: `root`, or MXNET_HOME/datasets/<name>."""
    home = Path(str(knobs.MXNET_HOME)).expanduser() / "datasets" / name
    return (home if root is None else Path(root)).expanduser()


def fetched(who: str, namespace: str, place: Path, file: Known) -> Path:
    """Where a file lies, fetched if it is missing or not the original.

    who: the data set, for the error if that is impossible.
    """
    name, sha1 = file
    path = place / name
    if path.exists() and (sha1 is None or check_sha1(path, sha1)):
        return path
    changed = path.exists()
    url = repository_url(f"gluon/dataset/{namespace}/{name}")
    try:
        download(url, path=path, sha1_hash=sha1, retries=1)
    except DataError as reason:
        what = "is not the original file" if changed else "is missing"
        raise DataError(
            f"{who}: {path} {what}, and it could not be fetched ({reason}) Put the "
            "original there, or point MXNET_HOME or MXNET_GLUON_REPO to where it is."
        ) from reason
    return path
