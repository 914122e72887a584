#ifndef FLAGGEMS_CORE_FORK_TESTUTIL_H_
#define FLAGGEMS_CORE_FORK_TESTUTIL_H_

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace flaggems {

// Runs `body` in a child and returns its exit code, or -1 for a signal; a child
// that hangs is ended by SIGALRM.
template <typename Body>
int InChild(Body&& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    _exit(body());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_FORK_TESTUTIL_H_
