#ifndef FLAGGEMS_TOOLS_PRECISION_PROGRESS_H_
#define FLAGGEMS_TOOLS_PRECISION_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace flaggems {

// A progress bar on stderr; silent when stderr is no terminal or `quiet`.
class Progress {
 public:
  Progress(std::string what, int64_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of the total are done; `note` stands behind the bar.
  void Update(int64_t done, const std::string& note);

 private:
  // A terminal is slower than a small model.
  bool TooSoon();

  const std::string what_;
  const int64_t total_;
  const bool visible_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_TOOLS_PRECISION_PROGRESS_H_
