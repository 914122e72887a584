#ifndef FLAGGEMS_CORE_STATUS_MACROS_H_
#define FLAGGEMS_CORE_STATUS_MACROS_H_

// FG_RETURN_IF_ERROR and FG_ASSIGN_OR_RETURN, which Debian's abseil lacks.

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status from the enclosing function unless it is OK.
#define FG_RETURN_IF_ERROR(expr)             \
  do {                                       \
    absl::Status fg_status_ = (expr);        \
    if (!fg_status_.ok()) return fg_status_; \
  } while (false)

// FG_ASSIGN_OR_RETURN(auto value, ExpressionOfStatusOr());
#define FG_ASSIGN_OR_RETURN(lhs, expr) \
  FG_ASSIGN_OR_RETURN_IMPL_(FG_CONCAT_(fg_status_or_, __LINE__), lhs, expr)

#define FG_ASSIGN_OR_RETURN_IMPL_(name, lhs, expr) \
  auto name = (expr);                              \
  if (!name.ok()) return std::move(name).status(); \
  lhs = *std::move(name)

#define FG_CONCAT_(a, b) FG_CONCAT_IMPL_(a, b)
#define FG_CONCAT_IMPL_(a, b) a##b

#endif  // FLAGGEMS_CORE_STATUS_MACROS_H_
