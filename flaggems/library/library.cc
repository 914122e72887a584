// What libflaggems.so offers to whoever loads it: two C functions. Loading it
// runs no check and installs nothing.

#include <cstdlib>
#include <cstring>
#include <string>

#include "flaggems/library/library_functions.h"

extern "C" {

// See CallLibraryFunction(). The text returned is the caller's, to be given to
// flaggems_free(); null if there is no memory.
__attribute__((visibility("default"))) char* flaggems_call(
    const char* name, const char* arguments) {
  return strdup(flaggems::CallLibraryFunction(name, arguments).c_str());
}

__attribute__((visibility("default"))) void flaggems_free(char* text) {
  std::free(text);
}
}
