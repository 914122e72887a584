#ifndef FLAGGEMS_CORE_FORK_SECTION_H_
#define FLAGGEMS_CORE_FORK_SECTION_H_

// fork() in a program of many threads: the child has one thread, and every lock
// that another thread of the parent held is held in it for ever.

namespace flaggems {

// While one lives on any thread, fork() waits. Every lock of the checker that a
// forked child may need is taken inside one, so that all are free in the child.
// Sections are short: no kernel and no reference runs in them. They nest, and
// cost some 20 ns.
class ForkSection {
 public:
  ForkSection();
  ~ForkSection();
  ForkSection(const ForkSection&) = delete;
  ForkSection& operator=(const ForkSection&) = delete;
};

// Whether this process came out of fork() after this library was loaded. Such a
// process must not start parallel loops of its own accord: the worker threads
// that OpenMP remembers are the parent's.
bool IsForkedChild();

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_FORK_SECTION_H_
