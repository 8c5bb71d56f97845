"""How an estimator is written and read: its parameters as plain values, its fitted attributes by their layout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from skewridge.persist._archive import ModelFileError
from skewridge.persist._layouts import Field, Sizes
from skewridge.persist._values import Reader, Writer, decode, encode


@dataclass(frozen=True)
class Estimator:
    """An estimator of one class.

    Attributes
    ----------
    cls : the class
    attributes : every attribute of a fitted one (of what pickle would keep of it) and its field
    optional : attributes that it may have
    parameters : those that are saved where not all are; the others must have their defaults
    retired : parameters that files of earlier versions may have; they decided the fit, and no more do
    upgrade : the attributes of an earlier version's file as this version has them
    holds : whether one may be used; it may raise ValueError or TypeError to say why not
    refusal : why one that may be used cannot be saved, and what to do; None where it can
    """

    cls: Any
    attributes: Mapping[str, Field]
    optional: Mapping[str, Field] = field(default_factory=dict)
    parameters: Collection[str] = ()
    retired: Collection[str] = ()
    upgrade: Callable[[dict[str, Any]], dict[str, Any]] = lambda state: state
    holds: Callable[[Any], object] = lambda model: True
    refusal: Callable[[Any], str | None] = lambda model: None

    def encode(self, model: Any, writer: Writer, place: str) -> dict[str, Any]:
        """Return parameters and attributes as JSON; the attributes of one that is not fitted are None."""
        self._check(model, place)
        reason = self.refusal(model)
        if reason is not None:
            raise ModelFileError(reason)
        given = model.get_params(deep=False)
        saved = {name: given[name] for name in self.parameters or given}
        parameters = {name: encode(value, writer, _at(place, name)) for name, value in saved.items()}
        self._check_dropped(given, self.cls(**saved).get_params(deep=False), place)
        known = {*given, "_sklearn_version"}  # which scikit-learn adds to the state of its own classes
        state = {name: value for name, value in model.__getstate__().items() if name not in known}
        return {"parameters": parameters, "attributes": self._encode_state(state, writer, place) if state else None}

    def decode(self, node: Any, reader: Reader, place: str) -> Any:
        """Return the estimator."""
        if set(node) != {"parameters", "attributes"} or not isinstance(node["parameters"], dict):
            raise ModelFileError(f"{place or 'the model'} has no parameters and attributes")
        known = self.parameters or signature(self.cls).parameters
        unknown = sorted(set(node["parameters"]) - set(known) - set(self.retired))
        if unknown:
            raise ModelFileError(f"{self.cls.__name__} has no parameter {unknown[0][:40]!r} in this skewridge")
        values = {name: decode(value, reader, _at(place, name)) for name, value in node["parameters"].items()}
        values = {name: value for name, value in values.items() if name not in self.retired}
        try:
            model = self.cls(**values)  # which only stores them
        except TypeError as error:
            raise ModelFileError(f"{place or 'the model'} lacks a parameter that it needs: {error}") from error
        if node["attributes"] is not None:
            model.__dict__.update(self.upgrade(self._decode_state(node["attributes"], reader, place)))
        self._check(model, place)
        return model

    def _check(self, model: Any, place: str) -> None:
        """Ask whether it may be used."""
        what = f"the parameters of {place or 'the model'} are not valid"
        try:
            held = self.holds(model)
        except (IndexError, TypeError, ValueError) as error:
            raise ModelFileError(f"{what}: {error}") from error
        if held is False:
            raise ModelFileError(what)

    def _encode_state(self, state: dict[str, Any], writer: Writer, place: str) -> dict[str, Any]:
        layout, sizes = {**self.attributes, **self.optional}, Sizes()
        for name in sorted(set(state) - set(layout)):
            raise ModelFileError(f"{_at(place, name)} is no attribute of a fitted {self.cls.__name__}: delete it")
        for name in sorted(set(self.attributes) - set(state)):
            raise ModelFileError(f"{_at(place, name)} is missing: fit the {self.cls.__name__} before saving")
        encoded = {n: layout[n].encode(value, writer, sizes, _at(place, n)) for n, value in state.items()}
        sizes.settle()
        return encoded

    def _decode_state(self, node: Any, reader: Reader, place: str) -> dict[str, Any]:
        layout, sizes = {**self.attributes, **self.optional}, Sizes()
        if not isinstance(node, dict) or not set(self.attributes) <= set(node) <= set(layout):
            raise ModelFileError(f"{place or 'the model'} has other attributes than a fitted {self.cls.__name__} has")
        found = {n: layout[n].decode(item, reader, sizes, _at(place, n)) for n, item in node.items()}
        sizes.settle()
        return found

    def _check_dropped(self, given: dict[str, Any], default: dict[str, Any], place: str) -> None:
        """Refuse settings that would be lost."""
        for name, value in given.items():
            if self.parameters and name not in self.parameters and value is not default[name]:
                raise ModelFileError(f"{_at(place, name)}={value!r} cannot be saved: set it to {default[name]!r}")


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
