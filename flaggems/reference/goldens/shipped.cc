#include "flaggems/reference/goldens/shipped.h"

#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/core/op_key.h"
#include "flaggems/reference/golden.h"
#include "flaggems/reference/goldens/attention.h"
#include "flaggems/reference/goldens/convolution.h"
#include "flaggems/reference/goldens/matmul.h"
#include "flaggems/reference/goldens/norm.h"
#include "flaggems/reference/goldens/rnn.h"

namespace flaggems {

std::vector<GoldenRow> ShippedGoldens() {
  std::vector<GoldenRow> rows;
  for (auto* const goldens : {&AttentionGoldens, &ConvolutionGoldens,
                              &MatmulGoldens, &NormGoldens, &RnnGoldens}) {
    for (GoldenRow& row : (*goldens)()) rows.push_back(std::move(row));
  }
  return rows;
}

void InstallShippedGoldens() {
  static std::once_flag& once = *new std::once_flag();
  std::call_once(once, [] {
    for (const GoldenRow& row : ShippedGoldens()) {
      StatusOrOf([&]() -> absl::Status {
        const absl::StatusOr<OpKey> key = OpKey::Parse(row.op);
        if (!key.ok()) return key.status();
        const std::optional<c10::OperatorHandle> op = FindOperator(*key);
        if (!op) return absl::NotFoundError(row.op);
        auto golden =
            GoldenOfKernel(*op, row.make(), row.infer(), /*widen=*/true);
        if (!golden.ok()) return golden.status();
        GoldenSlot::Of(*key).Set(*std::move(golden));
        return absl::OkStatus();
      }).IgnoreError();
    }
  });
}

}  // namespace flaggems
