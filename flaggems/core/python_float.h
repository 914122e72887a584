#ifndef FLAGGEMS_CORE_PYTHON_FLOAT_H_
#define FLAGGEMS_CORE_PYTHON_FLOAT_H_

// Numbers as Python prints them: what logs and options show.

#include <string>

namespace flaggems {

// As Python's repr(float): the shortest decimal that reads back as the same
// double; 0.01, 1e-05, 1e+16, 100.0, -0.0, inf, -inf, nan (of either sign).
std::string FormatPythonFloat(double value);

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_PYTHON_FLOAT_H_
