"""Golden functions: what an operator is to compute, written in Python."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable
from typing import Any, Final, TypeVar

import torch

from flaggems import _library, errors

_Function = TypeVar("_Function", bound=Callable[..., Any])

_NAMESPACE: Final = "flaggems_golden"
# Alive for good: the checker may call what is defined here at any time.
# Any: torch has no types for it.
_operators: Final[Any] = torch.library.Library(  # type: ignore[no-untyped-call]
    _NAMESPACE, "FRAGMENT"
)
_numbers: Final = itertools.count()


def _is_out(overload: torch._ops.OpOverload) -> bool:
    """Whether results go to arguments: add.out(..., *, Tensor(a!) out)."""
    return any(
        each.kwarg_only and each.alias_info is not None and each.alias_info.is_write
        for each in overload._schema.arguments
    )


def _overloads(op: str) -> list[torch._ops.OpOverload]:
    """The operators that golden()'s `op` names."""
    wanted = op if "::" in op else "aten::" + op
    namespace, _, rest = wanted.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    # TorchScript has overloads that the dispatcher knows nothing of.
    known = torch._C._dispatch_get_all_op_names()
    overloads = [
        getattr(packet, each)
        for each in (packet.overloads() if packet is not None else [])
        if overload in ("", each)
    ]
    overloads = [
        each
        for each in overloads
        if each._name in known and (overload or not _is_out(each))
    ]
    if not overloads:
        near = difflib.get_close_matches(wanted, known, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise errors.NotFoundError(f'torch has no operator "{op}"{hint}')
    return overloads


def _with_defaults(
    schema: torch._C.FunctionSchema, function: Callable[..., Any]
) -> Callable[..., Any]:
    """`function`, called with every argument of the schema.

    torch leaves out arguments that have their default value.
    """
    positional = [each for each in schema.arguments if not each.kwarg_only]
    keywords = [each for each in schema.arguments if each.kwarg_only]

    def call(*args: Any, **kwargs: Any) -> Any:
        rest = [
            kwargs.pop(each.name, each.default_value)
            for each in positional[len(args) :]
        ]
        for each in keywords:
            kwargs.setdefault(each.name, each.default_value)
        return function(*args, *rest, **kwargs)

    return call


def golden(op: str, *, widened: bool = True) -> Callable[[_Function], _Function]:
    """Registers a function as the reference of an operator; a decorator.

        @flaggems.golden("my::fused_norm")
        def fused_norm(x, weight, eps):
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight

    From then on the operator is judged by this function in place of torch's
    native CPU kernel; operators that have none can be judged at all.

    Args:
      op: "my::op.overload" ("my::op.default" is the one without a name), or
        "my::op" for all its overloads but those that write into out=, which
        must then all be what this function computes. Without a namespace: aten.
      widened: floating tensors reach the function as float64 in checks that
        have a float64 reference (profile "strict"). False if the function
        depends on their dtype.

    The function is called with every argument of the operator's schema,
    positional ones in order and keyword-only ones by name, on the CPU, and
    returns what the schema says: a tensor, or a tuple of them. It must not
    change its arguments unless the schema marks them. An operator that writes
    its arguments (Tensor(a!)) has the function write them, too.

    What it raises, or a result of another structure, is ERROR(reference) for
    that call and is told in summary_table(); the program goes on. It may be
    called by any thread that calls the operator. The last function that was
    registered for an operator counts.

    Returns:
      The decorator, which returns the function unchanged.

    Raises:
      LookupError: torch has no such operator; lists the nearest names.
      ValueError: the library refuses it.
    """
    overloads = _overloads(op)

    def register(function: _Function) -> _Function:
        for overload in overloads:
            schema = overload._schema
            signature = str(schema)[len(overload._name) :]
            name = "_".join(
                [*schema.name.split("::"), schema.overload_name, str(next(_numbers))]
            )
            _operators.define(name + signature)
            # For tensors of every device, real ones only.
            _operators.impl(
                name, _with_defaults(schema, function), "CompositeExplicitAutograd"
            )
            _library.call(
                "golden",
                {
                    "op": overload._name,
                    "function": f"{_NAMESPACE}::{name}",
                    "widen": widened,
                },
            )
        return function

    return register
