"""Validates a value against a JSON schema, for the subset of the standard that we use.

JSON Schema, draft 2020-12: type, const, enum, properties, required, additionalProperties, items,
prefixItems, minItems, maxItems, minimum, anyOf and local $ref.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

Check = Callable[[Any, str], None]
LARGEST = sys.float_info.max
TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: type(value) is bool,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float) and -LARGEST <= value <= LARGEST,
    "string": lambda value: type(value) is str,
    "array": lambda value: type(value) is list,
    "object": lambda value: type(value) is dict,
}
PATH = Path(__file__).parent / "schema.json"


class Mismatch(ValueError):
    """A value that does not match the schema."""


@cache
def recording_schema() -> dict[str, Any]:
    """The published schema of recordings."""
    found: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


@cache
def _recording_check() -> Check:
    return compiled(recording_schema())


def check_recording(value: Any) -> None:
    """Raise :class:`Mismatch` with the location unless the value is a recording."""
    _recording_check()(value, "recording")


def compiled(schema: dict[str, Any], root: dict[str, Any] | None = None) -> Check:
    """A function that raises unless a value matches the schema."""
    root = schema if root is None else root
    checks = [make(schema[word], schema, root) for word, make in KEYWORDS.items() if word in schema]
    if len(checks) == 1:
        return checks[0]

    def check(value: Any, where: str) -> None:
        for one in checks:
            one(value, where)

    return check


def _type(names: Any, schema: Any, root: Any) -> Check:
    allowed = [TYPES[name] for name in ([names] if isinstance(names, str) else names)]

    def check(value: Any, where: str) -> None:
        for is_so in allowed:
            if is_so(value):
                return
        raise Mismatch(f"{where} is {_short(value)}; expected {names}")

    return check


def _enum(values: Any, schema: Any, root: Any) -> Check:
    def check(value: Any, where: str) -> None:
        if not any(type(value) is type(one) and value == one for one in values):  # True is not 1
            raise Mismatch(f"{where} is {_short(value)}; expected one of {values}")

    return check


def _const(expected: Any, schema: Any, root: Any) -> Check:
    return _enum([expected], schema, root)


def _minimum(least: Any, schema: Any, root: Any) -> Check:
    def check(value: Any, where: str) -> None:
        if type(value) in (int, float) and value < least:
            raise Mismatch(f"{where} is {value}; expected {least} or more")

    return check


def _properties(properties: Any, schema: Any, root: Any) -> Check:
    each = {name: compiled(one, root) for name, one in properties.items()}
    required = schema.get("required", ())
    closed = schema.get("additionalProperties") is False

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            return
        for name in required:
            if name not in value:
                raise Mismatch(f"{where} has no {name!r}")
        for name, entry in value.items():
            if name in each:
                each[name](entry, f"{where}.{name}")
            elif closed:
                raise Mismatch(f"{where} has {name!r}, of which the schema does not know")

    return check


def _items(items: Any, schema: Any, root: Any) -> Check:
    one = compiled(items, root)
    least, most = schema.get("minItems", 0), schema.get("maxItems")

    def check(value: Any, where: str) -> None:
        if type(value) is not list:
            return
        if len(value) < least or (most is not None and len(value) > most):
            raise Mismatch(f"{where} has {len(value)} entries; expected {least} to {most}")
        for number, entry in enumerate(value):
            try:
                one(entry, "")
            except Mismatch as error:
                raise Mismatch(f"{where}[{number}]{error}") from None

    return check


def _any_of(schemas: Any, schema: Any, root: Any) -> Check:
    each = [compiled(one, root) for one in schemas]

    def check(value: Any, where: str) -> None:
        for one in each[:-1]:
            try:
                one(value, where)
            except Mismatch:
                continue
            return
        each[-1](value, where)

    return check


def _ref(ref: Any, schema: Any, root: Any) -> Check:
    found = root
    for name in ref.removeprefix("#/").split("/"):
        found = found[name]
    return compiled(found, root)


KEYWORDS: dict[str, Callable[[Any, Any, Any], Check]] = {
    "type": _type, "const": _const, "enum": _enum, "minimum": _minimum,
    "properties": _properties, "items": _items, "anyOf": _any_of, "$ref": _ref,
}  # fmt: skip


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
