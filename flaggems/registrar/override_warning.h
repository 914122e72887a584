#ifndef FLAGGEMS_REGISTRAR_OVERRIDE_WARNING_H_
#define FLAGGEMS_REGISTRAR_OVERRIDE_WARNING_H_

#include <c10/util/Exception.h>

namespace flaggems {

// While it lives, torch's warning that a kernel replaces another is swallowed
// on this thread: replacing it is what is wanted.
class NoOverrideWarning {
 public:
  NoOverrideWarning();
  NoOverrideWarning(const NoOverrideWarning&) = delete;
  NoOverrideWarning& operator=(const NoOverrideWarning&) = delete;

 private:
  class Filter : public c10::WarningHandler {
   public:
    void process(const c10::Warning& warning) override;
  };

  Filter filter_;
  const c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_OVERRIDE_WARNING_H_
