#ifndef FLAGGEMS_VERSION_H_
#define FLAGGEMS_VERSION_H_

namespace flaggems {

// Of the library, the Python package and the wheel; version_test holds
// flaggems/python/flaggems/_version.py to it.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace flaggems

#endif  // FLAGGEMS_VERSION_H_
