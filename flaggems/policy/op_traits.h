#ifndef FLAGGEMS_POLICY_OP_TRAITS_H_
#define FLAGGEMS_POLICY_OP_TRAITS_H_

// What policies know of an operator and of one call of it, torch-free.
// aten/op_traits_of.h fills them in from the schema, its tags and the stack.

#include <cstdint>

#include "flaggems/core/op_key.h"

namespace flaggems {

struct OpTraits {
  OpKey key;
  bool is_out_variant = false;           // has an out= argument
  bool is_mutable = false;               // some argument is written
  bool returns_view = false;             // a result shares memory, unwritten
  bool nondeterministic_seeded = false;  // the tag: results depend on the RNG
};

struct CallTraits {
  int64_t max_numel = 0;              // elements of the largest tensor argument
  bool half_precision_input = false;  // a float16 or bfloat16 tensor argument
  bool supported = true;              // strided tensors with storage only
  bool vast = false;       // a tensor has far more elements than memory
  bool capturing = false;  // a CUDA graph is being captured
  // A hash of what makes calls alike for Throttle::kSpread: dtypes, shape class
  // and strides of the tensor arguments.
  uint64_t signature = 0;
};

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_OP_TRAITS_H_
