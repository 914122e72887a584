"""libflaggems.so through ctypes, for the operator database."""

import ctypes
import json


class Library:
    """The functions of flaggems/library/library_functions.h."""

    def __init__(self, path):
        library = ctypes.CDLL(path)
        self._call = library.flaggems_call
        self._call.restype = ctypes.c_void_p
        self._call.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        self._free = library.flaggems_free
        self._free.argtypes = [ctypes.c_void_p]
        self._free.restype = None

    def call(self, name, **arguments):
        pointer = self._call(name.encode(), json.dumps(arguments).encode())
        text = ctypes.string_at(pointer).decode()
        self._free(pointer)
        answer = json.loads(text)
        if "error" in answer:
            raise RuntimeError("%s: %s" % (name, answer["error"]["message"]))
        return answer["result"]
