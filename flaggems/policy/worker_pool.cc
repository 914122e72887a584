#include "flaggems/policy/worker_pool.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include "flaggems/policy/waitable_lock.h"

namespace flaggems {
namespace {

// Blocks on this thread, and so on those that it starts, what is sent to the
// process.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&blocked, own);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Lets fork() wait for the tasks that run: the libraries that they call have
// locks that nobody would open in the child. Not for long: a task may itself
// wait for something that the forking thread holds, such as Python's lock.
class ForkGate {
 public:
  static ForkGate& Instance() { return *instance; }

  // After the handlers of ForkSection are, so that it waits before they do.
  static void Install() {
    [[maybe_unused]] static const int installed =
        pthread_atfork([] { instance->Close(); }, [] { instance->Open(); },
                       [] { instance = new ForkGate(); });
  }

  void Enter() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return forks_ == 0; });
    ++running_;
  }
  void Leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --running_;
    changed_.notify_all();
  }

 private:
  void Close() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++forks_;
    changed_.wait_for(lock, kPatience, [&] { return running_ == 0; });
  }
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --forks_;
    changed_.notify_all();
  }

  static constexpr std::chrono::seconds kPatience{1};

  static ForkGate* instance;  // the child leaks its parent's

  std::mutex mutex_;
  std::condition_variable changed_;
  int forks_ = 0;    // that wait or are under way
  int running_ = 0;  // tasks
};

ForkGate* ForkGate::instance = new ForkGate();

}  // namespace

WorkerPool::WorkerPool(Limits limits)
    : limits_{std::max(1, limits.threads),
              std::max<int64_t>(1, limits.backlog)},
      threads_(std::make_unique<Threads>()),
      owner_(getpid()) {}

void WorkerPool::ForgetParent() {
  if (owner_ == getpid()) return;
  owner_ = getpid();
  // Without threads there is nothing to forget.
  if (threads_->threads.empty()) return;
  threads_.release();  // leaked, see Threads
  threads_ = std::make_unique<Threads>();
  idle_ = 0;
  alone_ = true;
}

void WorkerPool::StartThread() {
  ForkGate::Install();
  const BlockedSignals blocked;
  try {
    threads_->threads.emplace_back(&WorkerPool::Work, this, threads_.get());
  } catch (const std::system_error&) {
    // The ones that there are have to do.
  }
}

bool WorkerPool::Submit(Task task, WhenFull when_full) {
  {
    WaitableLock lock(&mutex_);
    ForgetParent();
    while (!stopped_ && when_full == WhenFull::kWait &&
           static_cast<int64_t>(threads_->tasks.size()) >= limits_.backlog) {
      threads_->room.wait(lock);
    }
    const auto waiting = static_cast<int64_t>(threads_->tasks.size());
    if (stopped_ || waiting >= limits_.backlog) return false;
    if (!alone_ && idle_ <= waiting &&
        threads_->threads.size() < static_cast<size_t>(limits_.threads)) {
      StartThread();
    }
    if (!threads_->threads.empty()) {
      threads_->tasks.push_back(std::move(task));
      threads_->work.notify_one();
      return true;
    }
  }
  task();
  return true;
}

void WorkerPool::Work(Threads* threads) {
  for (;;) {
    Task task;
    {
      WaitableLock lock(&mutex_);
      ++idle_;
      while (threads->tasks.empty() && !stopped_) threads->work.wait(lock);
      --idle_;
      if (stopped_) return;
      task = std::move(threads->tasks.front());
      threads->tasks.pop_front();
      threads->room.notify_one();
    }
    ForkGate& gate = ForkGate::Instance();
    gate.Enter();
    task();
    gate.Leave();
  }
}

void WorkerPool::Stop() {
  std::vector<std::thread> threads;
  std::deque<Task> tasks;
  {
    const MutexLock lock(&mutex_);
    ForgetParent();
    stopped_ = true;
    threads.swap(threads_->threads);
    tasks.swap(threads_->tasks);
    threads_->work.notify_all();
    threads_->room.notify_all();
  }
  tasks.clear();
  for (std::thread& thread : threads) thread.join();
}

int64_t WorkerPool::backlog() const {
  const MutexLock lock(&mutex_);
  return static_cast<int64_t>(threads_->tasks.size());
}

}  // namespace flaggems
