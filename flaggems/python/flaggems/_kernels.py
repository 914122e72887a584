"""Which kernels run, and which are checked."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Final, Union

import torch

from flaggems import _library, _names, errors

# Ids of the library's registrations that are alive, in the order in which they
# were made. The lock is not held while the library is called.
_lock: Final = threading.Lock()
_alive: Final[dict[int, None]] = {}


def _install(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = _library.call(function, arguments)
    with _lock:
        _alive[result["id"]] = None
    return result


def _remove(registration: int) -> None:
    with _lock:
        if registration not in _alive:
            return
        del _alive[registration]
    _library.call("remove", {"id": registration})


class PrecisionCheckRegister:
    """Says that kernels are to be installed behind the check.

    To be passed as it is: enable(registrar=PrecisionCheckRegister).
    """


def _is_checked(registrar: Any) -> bool:
    if registrar is None:
        return False
    if registrar is PrecisionCheckRegister or isinstance(
        registrar, PrecisionCheckRegister
    ):
        return True
    raise errors.InvalidArgumentError(
        f"registrar is {registrar!r}; give PrecisionCheckRegister, or None for "
        f"kernels as they are"
    )


def enable(registrar: Union[type[PrecisionCheckRegister], None] = None) -> list[str]:
    """Installs every kernel of flaggems in the place of torch's CPU kernel.

    Args:
      registrar: PrecisionCheckRegister to have every call go through the check
        (see enable_precision_check()), None for the kernels as they are.

    Returns:
      The operators, "aten::add.Tensor", sorted.

    Raises:
      RuntimeError: flaggems has one of its kernels, or an observer, there
        already. Nothing is installed then.

    Thread-safe, but torch changes its table of kernels without a lock: no other
    thread may be calling these operators meanwhile. disable() restores what was
    there.
    """
    result = _install("enable", {"checked": _is_checked(registrar)})
    return list(result["ops"])


def only_enable(
    include: _names.Operators,
    registrar: Union[type[PrecisionCheckRegister], None] = None,
) -> list[str]:
    """enable() for some operators.

    Args:
      include: operators without namespace: "add" is each of its overloads that
        flaggems has a kernel for, "add.Tensor" one, "softmax" the operator that
        softmax reaches in the dispatcher.
      registrar: as in enable().

    Returns:
      The operators, "aten::add.Tensor", sorted.

    Raises:
      LookupError: flaggems has no kernel of that name; lists the nearest names.
      ValueError: `include` is empty.
      RuntimeError: as enable().
    """
    result = _install(
        "enable",
        {
            "include": _names.of_operators("include", include),
            "checked": _is_checked(registrar),
        },
    )
    return list(result["ops"])


class Observation:
    """Kernels that are being observed, until remove().

    Also a context manager, which removes them at its end:

        with flaggems.observe("mm", device="cpu") as observation:
            model(x)

    Letting go of the object removes nothing.
    """

    def __init__(
        self, registration: int, ops: list[str], not_observed: dict[str, str]
    ) -> None:
        self._registration = registration
        self._ops = ops
        self._not_observed = not_observed

    @property
    def ops(self) -> list[str]:
        """The operators that are observed, "aten::add.Tensor", sorted."""
        return list(self._ops)

    @property
    def not_observed(self) -> dict[str, str]:
        """The operators that a pattern matched and that cannot be observed,
        with the reason."""
        return dict(self._not_observed)

    def remove(self) -> None:
        """Restores what was there before; does nothing the second time.

        Thread-safe, while other threads call the operators, too.
        """
        _remove(self._registration)

    def __enter__(self) -> Observation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<flaggems.Observation of {len(self._ops)} operators>"


def _device(device: Any) -> str:
    # With an index the library says what is wrong.
    if isinstance(device, (str, torch.device)):
        return str(device)
    raise errors.InvalidArgumentError(
        f'device is {device!r}; give a type of devices, "cpu" or "cuda"'
    )


def observe(
    include: _names.Operators = ("aten::*",),
    exclude: _names.Operators = (),
    device: Union[str, torch.device] = "cuda",
) -> Observation:
    """Checks kernels that are registered now, whoever wrote them.

    Each goes on computing what it computes: torch's own kernels, those of a C++
    library, those registered from Python with torch.library. Kernels that were
    there when flaggems was imported are torch's own; those registered since are
    judged against them. So import flaggems first, register, then observe. What
    is registered later over an observed kernel is checked once it is observed
    itself: call observe() again.

    An operator that has neither a CPU kernel of torch's nor a golden function
    (golden()) is SKIP(unsupported): nothing is known to judge it by.

    Args:
      include: operators: "mm" (all overloads), "mm.default" (the one without a
        name), "aten::add.out", "my::op", torch.ops.aten.mm, or patterns with "*"
        for any text, matched against the full name ("aten::*",
        "aten::_foreach_*"). One, or any iterable of them.
      exclude: names and patterns to leave out.
      device: whose kernels: a type of devices without an index ("cuda", the
        default, "cpu", a renamed "privateuseone"), or a backend's dispatch key
        ("SparseCPU"). The reference is torch's kernel of the CPU for all of them.

    Returns:
      An Observation: its operators, what cannot be observed and why, and
      remove(). disable() removes it, too.

    Cost: a fraction of a microsecond a call that is not checked; see
    enable_precision_check() for one that is.

    What is observed already is observed once, until the last Observation of it
    is removed.

    Raises:
      LookupError: no operator has that name or pattern (lists the nearest ones),
        or one that is named cannot be observed (says why).
      ValueError: `include` is empty, holds what is no name, or matches only what
        has no kernel for the device; there is no such type of devices.
      RuntimeError: torch sees no such device in this process; or a kernel of
        enable() or only_enable() is there (patterns leave those out).

    Thread-safe, while other threads call the operators, too.
    """
    result = _install(
        "observe",
        {
            "include": _names.of_operators("include", include),
            "exclude": _names.of_operators("exclude", exclude),
            "device": _device(device),
        },
    )
    return Observation(result["id"], result["ops"], result["not_observed"])


def disable() -> None:
    """Removes all that enable(), only_enable() and observe() installed.

    torch's kernels are as they were. The check stays enabled. Thread-safe, with
    the restriction of enable() if that was called.
    """
    with _lock:
        registrations = list(_alive)
    # What was installed last was installed over the others.
    for registration in reversed(registrations):
        _remove(registration)
