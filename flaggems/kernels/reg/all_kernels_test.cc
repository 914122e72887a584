// The registered kernels are exactly those of the table. This file refers to
// none of them: the linker would drop a registration that is not alwayslink.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "flaggems/kernels/reg/kernel_table.h"
#include "flaggems/registry/kernel_registry.h"
#include "flaggems/registry/register_kernel.h"

namespace flaggems {
namespace {

TEST(AllKernels, AreTheKernelsOfTheTable) {
  std::vector<std::string> registered;
  for (const KernelEntry* entry : KernelRegistrar::All()) {
    registered.push_back(std::string(entry->op) + " " +
                         BackendName(entry->backend));
  }
  const std::vector<std::string> table = KernelTable();
  EXPECT_FALSE(table.empty());
  EXPECT_THAT(registered, testing::UnorderedElementsAreArray(table));
}

TEST(AllKernels, BuildARegistry) {
  const absl::StatusOr<KernelRegistry> registry =
      KernelRegistry::Build(KernelRegistrar::All());
  ASSERT_TRUE(registry.ok()) << registry.status();
  EXPECT_EQ(registry->kernels().size(), KernelTable().size());
}

}  // namespace
}  // namespace flaggems
