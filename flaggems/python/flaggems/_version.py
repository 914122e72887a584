"""Versions that belong together; tests hold them to flaggems/version.h and to
what the library says of itself."""

from typing import Final

# Of the package, the library and the wheel.
__version__: Final = "0.1.0"

# The torch that the library is built for. torch promises no stable C++ ABI
# from one version to the next, so no other one can be used with it.
TORCH_VERSION: Final = "2.11.0"
