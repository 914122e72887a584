#include "flaggems/check/call_screen.h"

#include <algorithm>
#include <utility>

#include "flaggems/core/status_macros.h"
#include "flaggems/screen/costs.h"
#include "flaggems/screen/host_copy_screen.h"

namespace flaggems {
namespace {

// Null: calls of this session are judged in full.
const ScreenMaker* MakerFor(const CheckSession& session, int64_t max_numel) {
  // A screen costs the host some 50 us, whatever the size; so does a smaller
  // call on the CPU (docs/performance.md).
  constexpr int64_t kScreenedByAuto = 1024;
  const ReferencePlace place = session.reference();
  const bool wanted =
      place == ReferencePlace::kDevice ||
      (place == ReferencePlace::kAuto && max_numel >= kScreenedByAuto);
  return wanted ? RegisteredScreenMaker() : nullptr;
}

absl::StatusOr<std::unique_ptr<Screen>> MakeScreen(
    const ScreenMaker& maker, const CheckedOp& op, CheckRuntime& runtime,
    const CheckSession& session, const BudgetRow& row,
    absl::Span<const c10::IValue> arguments, int64_t max_numel,
    CheckTimer& timer) {
  constexpr int64_t kLarge = 1 << 20;
  const int64_t limit = session.memory_limit();
  const auto make = [&](int64_t pending) {
    return maker.Make(op.judged, row, *op.screen_hints, arguments,
                      {limit, std::max<int64_t>(0, limit - pending)});
  };
  const int64_t pending = runtime.pending().bytes();
  if (limit == 0 || pending == 0) return make(0);
  absl::StatusOr<std::unique_ptr<Screen>> screen = make(pending);
  if (!screen.ok() || *screen != nullptr ||
      (pending <= limit / 2 && max_numel < kLarge)) {
    return screen;
  }
  timer.Pause();
  runtime.pending().Drain();
  timer.Resume();
  return make(runtime.pending().bytes());
}

}  // namespace

absl::StatusOr<CallScreen> TakeScreen(const CheckedOp& op,
                                      CheckRuntime& runtime,
                                      CheckSession& session,
                                      const BudgetRow& row,
                                      absl::Span<const c10::IValue> arguments,
                                      int64_t max_numel, CheckTimer& timer) {
  CallScreen taken;
  const ScreenMaker* const maker = MakerFor(session, max_numel);
  if (maker != nullptr) {
    FG_ASSIGN_OR_RETURN(taken.screen,
                        MakeScreen(*maker, op, runtime, session, row, arguments,
                                   max_numel, timer));
    if (taken.screen != nullptr) {
      taken.accepts = true;
      if (session.time_budget().limited()) taken.screen->MeasureDeviceTime();
      TotalScreenCosts().screened.fetch_add(1, std::memory_order_relaxed);
      return taken;
    }
  }
  if (session.on_failure() != OnFailure::kLog) return taken;
  FG_ASSIGN_OR_RETURN(
      taken.screen,
      HostCopyScreens().Make(op.judged, row, *op.screen_hints, arguments,
                             {session.memory_limit(), session.memory_limit()}));
  return taken;
}

}  // namespace flaggems
