#include "flaggems/screen/screen.h"

namespace flaggems {
namespace {

std::atomic<const ScreenMaker*> registered{nullptr};

}  // namespace

void RegisterScreenMaker(const ScreenMaker* maker) {
  registered.store(maker, std::memory_order_release);
}

const ScreenMaker* RegisteredScreenMaker() {
  return registered.load(std::memory_order_acquire);
}

}  // namespace flaggems
