"""Models in files that cannot run code: arrays and JSON in a zip, written in one step, refused unless all is right."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skewridge._atomic import atomic_file
from skewridge._version import __version__
from skewridge.estimators.sources import files_read_by
from skewridge.persist._archive import Contents, ModelFileError, read_archive, write_archive
from skewridge.persist._values import Reader, Writer, decode, encode

__all__ = ["ModelFile", "ModelFileError", "load_model", "read_model", "save_model"]


@dataclass(frozen=True)
class ModelFile:
    """A model with what was written about it, and the version of the library that wrote it."""

    model: Any
    about: dict[str, Any]
    library: str


def save_model(model: Any, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to one file that :func:`load_model` reads back bit for bit.

    A file that is there already is replaced in one step, or left as it was where anything goes wrong.

    Parameters
    ----------
    model : a fitted estimator of skewridge
        The file of a :class:`SkewRidge` or :class:`LocalKernelRidge` holds every distinct training row, ``plan`` tells
        how many bytes a row; that of an :class:`AdaptiveKernelRidge` its centres only.
        A :class:`DacRegressor` only around another of them. Or a :class:`~skewridge.TableEncoder`, or a
        scikit-learn Pipeline of one and an estimator.
    path : str or path
        By custom it ends in ``.skr``.
    about : dict, optional
        What else is to be known of the model: text, numbers, lists, dicts and arrays of numbers.

    Raises
    ------
    ModelFileError
        Where the model is of another class, not fitted, or has a parameter that is a function or another object: they
        could be loaded by running code only.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from skewridge import AdaptiveKernelRidge, load_model, save_model
    >>> from skewridge.datasets import make_peaks
    >>> X, y = make_peaks(200, 2, random_state=0)
    >>> model = AdaptiveKernelRidge(n_centers=20, random_state=0).fit(X, y)
    >>> path = tempfile.mkdtemp() + "/peaks.skr"
    >>> save_model(model, path)
    >>> bool(np.array_equal(load_model(path).predict(X), model.predict(X)))
    True
    """
    from skewridge.persist._registry import ESTIMATORS

    inputs = files_read_by(model)  # which the model forgets when it is saved
    writer = Writer({layout.cls: (name, layout) for name, layout in ESTIMATORS.items()})
    if type(model) not in writer.estimators:
        raise ModelFileError(f"A {type(model).__name__} cannot be saved; {', '.join(ESTIMATORS)} can.")
    try:
        _check_fitted(model)
        document = {"model": encode(model, writer, ""), "about": encode(dict(about or {}), writer, "about")}
    except ModelFileError as error:
        raise ModelFileError(f"This {type(model).__name__} cannot be saved: {error}.") from error
    with atomic_file(path, inputs=inputs) as file:
        write_archive(file, Contents(document, writer.arrays, __version__))


def load_model(path: str | os.PathLike[str]) -> Any:
    """Return the model that :func:`save_model` wrote to a file.

    No code in the file is ever run: it holds arrays of numbers and JSON, and everything in it is checked, its hash, its
    size, its type, and whether all of it fits together.

    Raises
    ------
    ModelFileError
        Where the file is damaged, cut short, of another kind or of an unknown version.
    OSError
        Where it cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> from skewridge import DacKernelRidge, load_model, save_model
    >>> path = tempfile.mkdtemp() + "/line.skr"
    >>> save_model(DacKernelRidge(penalty=0.1, bandwidth=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]), path)
    >>> load_model(path)
    DacKernelRidge(bandwidth=1.0, penalty=0.1)
    """
    return read_model(path).model


def read_model(path: str | os.PathLike[str]) -> ModelFile:
    """Return the model of a file with what was written about it."""
    from skewridge.persist._registry import ESTIMATORS

    library = __version__
    try:
        contents = read_archive(path)
        library = contents.library
        reader = Reader(ESTIMATORS, contents.arrays)
        model, about = _decode_document(contents.document, reader)
    except (ModelFileError, RecursionError) as error:
        raise ModelFileError(f"{Path(path)} cannot be loaded as a model: {error}. {_remedy(library)}") from error
    return ModelFile(model, about, contents.library)


def _remedy(library: str) -> str:
    """Advice for a file that cannot be loaded, by the version of the library that wrote it."""
    if _numbers(library) > _numbers(__version__):
        return f"It was written by skewridge {library} and this is {__version__}: upgrade skewridge to load it."
    return "Copy it again from where it was saved, or fit and save the model again."


def _numbers(version: str) -> list[int]:
    """The numbers of a version, by which versions are ordered."""
    return [int(number) for number in re.findall(r"\d+", version)]


def _check_fitted(model: Any) -> None:
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise ModelFileError("it is not fitted: call fit first") from error


def _decode_document(document: Any, reader: Reader) -> tuple[Any, dict[str, Any]]:
    """Return the model and what is said about it."""
    if not isinstance(document, dict) or set(document) != {"model", "about"}:
        raise ModelFileError("it does not say which model it is")
    node, about = document["model"], decode(document["about"], reader, "about")
    if not isinstance(node, dict) or set(node) != {"estimator"} or not isinstance(about, dict):
        raise ModelFileError("it holds something else than a model")
    model = decode(node, reader, "")
    _check_fitted(model)
    reader.check_all_used()
    return model, about
