#include "flaggems/registry/check_scope.h"

namespace flaggems {
namespace {

thread_local int depth = 0;

}  // namespace

CheckScope::CheckScope() noexcept { ++depth; }
CheckScope::~CheckScope() { --depth; }
bool CheckScope::active() noexcept { return depth != 0; }

}  // namespace flaggems
