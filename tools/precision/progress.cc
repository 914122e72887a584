#include "tools/precision/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace flaggems {
namespace {

constexpr int kWidth = 30;                 // characters of the bar
constexpr char kEraseLine[] = "\r\x1b[K";  // ANSI: to column 1, erase

}  // namespace

Progress::Progress(std::string what, int64_t total, bool quiet)
    : what_(std::move(what)),
      total_(std::max<int64_t>(total, 1)),
      visible_(!quiet && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (visible_) std::fputs(kEraseLine, stderr);
}

bool Progress::TooSoon() {
  constexpr auto kInterval = std::chrono::milliseconds(100);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return true;
  next_ = now + kInterval;
  return false;
}

void Progress::Update(int64_t done, const std::string& note) {
  if (!visible_ || TooSoon()) return;
  const int filled =
      static_cast<int>(std::clamp<int64_t>(done, 0, total_) * kWidth / total_);
  const std::string bar =
      std::string(filled, '#') + std::string(kWidth - filled, '.');
  std::fprintf(stderr, "%s%s [%s] %lld/%lld %s", kEraseLine, what_.c_str(),
               bar.c_str(), static_cast<long long>(done),
               static_cast<long long>(total_), note.c_str());
  std::fflush(stderr);
}

}  // namespace flaggems
