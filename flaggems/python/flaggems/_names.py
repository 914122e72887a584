"""Names of operators, in the forms in which users give them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, Union

import torch

from flaggems import errors

# "aten::add.Tensor", torch.ops.aten.add.Tensor, torch.ops.aten.add.
Operator = Union[str, torch._ops.OpOverload, torch._ops.OpOverloadPacket]
Operators = Union[Operator, Iterable[Operator]]

_OBJECTS: Final = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)
_FORMS: Final = '"mm", "aten::add.Tensor" or torch.ops.aten.mm'


def _as_dispatched(name: str) -> str | None:
    """What somebody means who writes the name of a function in Python."""
    operator = re.fullmatch(r"torch\.ops\.(\w+)\.(.+)|(aten)\.(.+)", name)
    if operator:
        namespace, rest = operator.group(1, 2) if operator[1] else operator.group(3, 4)
        return f"{namespace}::{rest}"
    if name.startswith("torch."):
        return name.rpartition(".")[2]
    return None


def checked_text(parameter: str, name: str) -> str:
    """`name`, if it may be a name of the dispatcher's.

    Raises:
      ValueError: it is several names.
      LookupError: it is the name of a function of Python's; says which
        operator may be meant.
    """
    if "," in name:
        parts = ", ".join(f'"{part.strip()}"' for part in name.split(","))
        raise errors.InvalidArgumentError(
            f'{parameter} holds "{name}"; several names are a list: [{parts}]'
        )
    meant = _as_dispatched(name)
    if meant is not None:
        raise errors.NotFoundError(
            f'torch has no operator "{name}"; operators have the dispatcher\'s '
            f'names; did you mean "{meant}"?'
        )
    return name


def of_operator(parameter: str, op: Any) -> str:
    """The name of one operator for the library.

    Args:
      parameter: whose value it is, for messages.
      op: an Operator.

    Raises:
      ValueError: it is no name at all, or several.
      LookupError: as checked_text().
    """
    if isinstance(op, str):
        name = checked_text(parameter, op)
        # As Python calls the overload without a name; the library wants "mm.".
        return name[: -len("default")] if name.endswith(".default") else name
    if isinstance(op, torch._ops.OpOverloadPacket):
        return str(op._qualified_op_name)
    if isinstance(op, torch._ops.OpOverload):
        # A name without a dot stands for all overloads.
        return op._name if op._schema.overload_name else f"{op._name}."
    raise errors.InvalidArgumentError(
        f"{parameter} holds {op!r}; give names of operators, {_FORMS}"
    )


def of_operators(parameter: str, ops: Any) -> list[str]:
    """The names of several, given as one Operator or as any iterable of them.

    Raises:
      As of_operator().
    """
    # An OpOverloadPacket is an iterable, too, of its overloads' names.
    if isinstance(ops, (str, *_OBJECTS)):
        return [of_operator(parameter, ops)]
    if isinstance(ops, Iterable) and not isinstance(ops, (bytes, bytearray)):
        return [of_operator(parameter, op) for op in ops]
    raise errors.InvalidArgumentError(
        f"{parameter} is {ops!r}; give names of operators, {_FORMS}, or a list of them"
    )
