#ifndef FLAGGEMS_KERNELS_REG_KERNEL_TABLE_H_
#define FLAGGEMS_KERNELS_REG_KERNEL_TABLE_H_

#include <string>
#include <vector>

namespace flaggems {

// Every kernel of a backend's table, as "aten::op.overload BACKEND"; generated
// from the table.
std::vector<std::string> KernelTable();

}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_REG_KERNEL_TABLE_H_
