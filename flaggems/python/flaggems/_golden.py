"""Golden functions: what an operator is to compute, written in Python."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable
from typing import Any, Final, TypeVar

import torch

from flaggems import _library, _names, errors

_Function = TypeVar("_Function", bound=Callable[..., Any])

_NAMESPACE: Final = "flaggems_golden"
# Alive for good: the checker may call what is defined here at any time.
# Any: torch has no types for it.
_operators: Final[Any] = torch.library.Library(  # type: ignore[no-untyped-call]
    _NAMESPACE, "FRAGMENT"
)
_numbers: Final = itertools.count()


def _overload(op: Any) -> torch._ops.OpOverload:
    """The operator that golden()'s `op` names."""
    if isinstance(op, torch._ops.OpOverload):
        return op
    if callable(op) and not isinstance(op, torch._ops.OpOverloadPacket):
        raise errors.InvalidArgumentError(
            f"golden is given {op!r} for the name of an operator; write "
            f'@flaggems.golden("my::op") above the function, or '
            f'flaggems.golden("my::op")(function)'
        )
    if isinstance(op, str):
        op = _names.checked_text("op", op)
    else:
        op = _names.of_operator("op", op)
    wanted = op if "::" in op else "aten::" + op
    namespace, _, rest = wanted.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    # TorchScript has overloads that the dispatcher knows nothing of.
    known = torch._C._dispatch_get_all_op_names()
    overloads: dict[str, torch._ops.OpOverload] = {
        each: getattr(packet, each)
        for each in (packet.overloads() if packet is not None else [])
        if getattr(packet, each)._name in known
    }
    if not overload:
        overload = "default" if len(overloads) != 1 else next(iter(overloads))
    if overload in overloads:
        return overloads[overload]
    if overloads and wanted.count(".") == 0:
        raise errors.InvalidArgumentError(
            f"{wanted} has several overloads; name one of "
            f"{', '.join(each._name for each in overloads.values())}"
        )
    near = difflib.get_close_matches(wanted, known, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise errors.NotFoundError(f'torch has no operator "{op}"{hint}')


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


def golden(
    op: _names.Operator, *, widened: bool = True
) -> Callable[[_Function], _Function]:
    """Registers a function as the reference of an operator; a decorator.

        @flaggems.golden("my::fused_norm")
        def fused_norm(x, weight, eps):
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight

    The operator is judged by this function in place of torch's native CPU kernel.
    Operators that have none, such as custom ones, can be judged in no other way:
    their calls are SKIP(unsupported) without. Calls that begin later count; the
    last function that was registered for an operator is the one.

    Args:
      op: "my::op.overload"; without an overload it is the default one ("default"
        names it, too), or the only one there is. Without a namespace: aten. Or
        the operator itself, torch.ops.my.op.
      widened: in checks that have a float64 reference (profile "strict") the
        function gets floating tensors as float64, complex ones as complex128
        and dtype arguments likewise, several times a call, some with small
        changes that show how sensitive the result is. It must compute in the
        type that it is given. False: it gets the arguments as they are only,
        and error budgets are twice as large.

    The function gets every argument of the operator's schema, positional ones in
    order and keyword-only ones by name: copies, on the CPU. It returns what the
    schema says, a tensor or a tuple of them; if the operator writes arguments
    (Tensor(a!)), it writes them, too. Operators that it calls are torch's own,
    also where a kernel under test is installed over them. It may be called by
    any thread that calls the operator.

    What it raises, or a result of another structure, is ERROR(reference) for
    that call and is told in summary_table(); the program goes on.

    Returns:
      The decorator, which returns the function unchanged.

    Raises:
      LookupError: torch has no such operator; lists the nearest names.
      ValueError: there are several overloads (lists them); `op` is no name, or
        what is decorated no function.
    """
    overload = _overload(op)

    def register(function: _Function) -> _Function:
        if not callable(function):
            raise errors.InvalidArgumentError(
                f"the golden function of {overload._name} is {function!r}; give a "
                f"function"
            )
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
                "op": (
                    overload._name if schema.overload_name else f"{schema.name}.default"
                ),
                "function": f"{_NAMESPACE}::{name}",
                "widen": widened,
            },
        )
        return function

    return register
