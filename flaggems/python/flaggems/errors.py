"""What flaggems raises.

Each error is a FlaggemsError and the built-in exception that fits, so either
can be caught:

    FlaggemsError
      InvalidArgumentError  ValueError    a value or a name is not allowed
      UnknownOptionError    TypeError     there is no option of that name
      NotFoundError         LookupError   torch or the library has no such thing
      LogError              OSError       the log, or a file that an option
                                          names, cannot be opened
      StateError            RuntimeError  not possible as things are now:
                                          something is installed already, there
                                          is no such device, ...

Importing flaggems raises ImportError where it cannot work.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "FlaggemsError",
    "InvalidArgumentError",
    "LogError",
    "NotFoundError",
    "StateError",
    "UnknownOptionError",
]


class FlaggemsError(Exception):
    """Whatever flaggems raises after it was imported."""


class InvalidArgumentError(FlaggemsError, ValueError):
    """A value or a name is not allowed; the message says what is."""


class UnknownOptionError(FlaggemsError, TypeError):
    """There is no option of that name; the message has the nearest names."""


class NotFoundError(FlaggemsError, LookupError):
    """Torch or the library has no such operator, kernel or key."""


class LogError(FlaggemsError, OSError):
    """A file cannot be opened; the message names it and the cause."""


class StateError(FlaggemsError, RuntimeError):
    """Not possible as things are now."""


# By the name that absl gives a status code. Whatever else the library answers
# is none of the caller's values: StateError.
_OF_CODE: Final[dict[str, type[FlaggemsError]]] = {
    "INVALID_ARGUMENT": InvalidArgumentError,
    "OUT_OF_RANGE": InvalidArgumentError,
    "NOT_FOUND": NotFoundError,
}


def of_status(code: str, message: str) -> FlaggemsError:
    """The error for a status of the library.

    Args:
      code: absl's name of the status code, "NOT_FOUND".
      message: what the status says.
    """
    return _OF_CODE.get(code, StateError)(message)


def of_opening(code: str, message: str) -> FlaggemsError:
    """The same for a function that opens files and looks nothing else up.

    There every code but INVALID_ARGUMENT is an errno of the system.
    """
    if code == "INVALID_ARGUMENT":
        return InvalidArgumentError(message)
    return LogError(message)
