#ifndef FLAGGEMS_CORE_OP_KEY_H_
#define FLAGGEMS_CORE_OP_KEY_H_

// The name of an operator overload, as the dispatcher spells it.

#include <string>
#include <tuple>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flaggems {

struct OpKey {
  std::string ns;        // "aten"
  std::string name;      // "add"
  std::string overload;  // "Tensor", or empty for the default overload

  // "aten::add.Tensor"; "aten::relu" for a default overload.
  std::string ToString() const;

  // Without "aten::" ("add.Tensor"); other namespaces are kept ("my::op"). The
  // form that logs use.
  std::string ShortName() const;

  // Name and overload without any namespace, "add.Tensor".
  std::string Unqualified() const;

  // Parses "ns::name", "ns::name.overload"; without "ns::" the namespace is
  // aten. kInvalidArgument for an empty name.
  static absl::StatusOr<OpKey> Parse(absl::string_view text);

  friend bool operator==(const OpKey& a, const OpKey& b) {
    return std::tie(a.ns, a.name, a.overload) ==
           std::tie(b.ns, b.name, b.overload);
  }
  friend bool operator!=(const OpKey& a, const OpKey& b) { return !(a == b); }
  friend bool operator<(const OpKey& a, const OpKey& b) {
    return std::tie(a.ns, a.name, a.overload) <
           std::tie(b.ns, b.name, b.overload);
  }
  template <typename H>
  friend H AbslHashValue(H h, const OpKey& key) {
    return H::combine(std::move(h), key.ns, key.name, key.overload);
  }
};

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_OP_KEY_H_
