"""flaggems: checks the numbers of operator kernels while a program runs.

    import flaggems

    flaggems.enable_precision_check(profile="strict")  # 1: configure, open the log
    flaggems.observe(device="cpu")                     # 2: every operator of aten
    output = model(input)                              # run as usual
    print(flaggems.summary_table())                    # what was checked

Each call of an observed operator is made by its kernel, which gives the result
that the program sees, and computed again by torch's native CPU kernel; operators
that disagree are logged in ~/.flaggems/precision.log, one line a failure.

With flaggems' own kernels in the place of torch's:

    flaggems.enable(registrar=flaggems.PrecisionCheckRegister)
    flaggems.only_enable(
        include=["mm", "add", "softmax"], registrar=flaggems.PrecisionCheckRegister
    )

    flaggems.disable_precision_check()                 # no more checks
    flaggems.disable()                                 # torch's kernels as before

It costs a lot: it is for development and debugging, not for production.

Import flaggems before other kernels are registered: what torch has at that
moment is what they are judged by. Everything here may be called from any thread,
enable() and only_enable() and the removal of their kernels not while other
threads call these operators. Errors: flaggems.errors.
"""

from flaggems._check import (
    OpSummary,
    _costs,
    disable_precision_check,
    enable_precision_check,
    precision_check_enabled,
    summary,
    summary_table,
)
from flaggems._golden import golden
from flaggems._kernels import (
    Observation,
    PrecisionCheckRegister,
    disable,
    enable,
    observe,
    only_enable,
)
from flaggems._version import __version__
from flaggems.errors import FlaggemsError

__all__ = [
    "FlaggemsError",
    "Observation",
    "OpSummary",
    "PrecisionCheckRegister",
    "__version__",
    "disable",
    "disable_precision_check",
    "enable",
    "enable_precision_check",
    "golden",
    "observe",
    "only_enable",
    "precision_check_enabled",
    "summary",
    "summary_table",
]
