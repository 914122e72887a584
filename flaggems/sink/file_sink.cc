#include "flaggems/sink/file_sink.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flaggems/core/mutex.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {
namespace {

absl::StatusCode CodeOfErrno(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnknown;
  }
}

absl::string_view AdviceFor(absl::StatusCode code, int error) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return "; make room or give another path";
  }
  const bool path_is_wrong = code == absl::StatusCode::kPermissionDenied ||
                             code == absl::StatusCode::kNotFound ||
                             code == absl::StatusCode::kInvalidArgument;
  return path_is_wrong ? "; give another path" : "";
}

absl::Status SystemError(int error, absl::string_view what,
                         absl::string_view path) {
  const absl::StatusCode code = CodeOfErrno(error);
  return absl::Status(code,
                      absl::StrCat("cannot ", what, " the log ", path, ": ",
                                   std::generic_category().message(error),
                                   AdviceFor(code, error)));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// Keeps SIGXFSZ, which a write beyond RLIMIT_FSIZE raises, from ending the
// user's program: the write's EFBIG says it all. Blocks it for this thread and
// takes back what this thread raised.
class FileSizeSignalBlock {
 public:
  FileSizeSignalBlock() {
    sigset_t pending;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &mask_);
  }
  ~FileSizeSignalBlock() {
    const int error = errno;
    constexpr struct timespec kNoWait = {0, 0};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &kNoWait);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    errno = error;
  }
  FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
  FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;

 private:
  sigset_t signal_;
  sigset_t mask_;
  bool was_pending_;
};

// write(2), again after a signal that came before anything was written.
ssize_t WriteOnce(int fd, const char* data, size_t size) {
  const FileSizeSignalBlock block;
  ssize_t written;
  do {
    written = write(fd, data, size);
  } while (written < 0 && errno == EINTR);
  return written;
}

class FileSink : public RecordSink {
 public:
  FileSink(std::string path, FileDescriptor fd, RecordFormatter formatter)
      : path_(std::move(path)), formatter_(formatter), fd_(std::move(fd)) {}

  absl::Status Send(const CheckRecord& record) override {
    try {
      return SendLine(formatter_(record));
    } catch (const std::bad_alloc&) {
      // Without a message: that would need memory.
      return absl::Status(absl::StatusCode::kResourceExhausted, "");
    }
  }

  // write(2) has made every line visible already.
  absl::Status Flush() override { return absl::OkStatus(); }

 private:
  absl::Status SendLine(std::string line) {
    line.push_back('\n');
    MutexLock lock(&mutex_);
    if (torn_) line.insert(0, 1, '\n');
    const ssize_t written = WriteOnce(fd_.get(), line.data(), line.size());
    if (written < 0) return SystemError(errno, "write to", path_);
    if (written > 0) torn_ = line[written - 1] != '\n';
    if (static_cast<size_t>(written) == line.size()) return absl::OkStatus();
    // The error itself shows in the next write only; a regular file is cut for
    // want of space or by a limit of its size.
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot write to the log ", path_, ": only ", written, " of ",
        line.size(),
        " bytes of a record fitted (disk full, or file too large)"));
  }

  const std::string path_;
  const RecordFormatter formatter_;
  Mutex mutex_;
  const FileDescriptor fd_;
  // The file ends inside a line.
  bool torn_ ABSL_GUARDED_BY(mutex_) = false;
};

// mkdir -p; `directory` may be empty (the current one).
absl::Status MakeDirectories(const std::string& directory) {
  for (size_t end = 1; end <= directory.size(); ++end) {
    if (end < directory.size() && directory[end] != '/') continue;
    const std::string part = directory.substr(0, end);
    if (mkdir(part.c_str(), 0700) == 0) continue;
    const int error = errno;
    // Whatever the error, a directory that is there is good: mkdir() says
    // EROFS or EACCES of some (automounted, or "/" itself).
    struct stat info;
    if (stat(part.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) continue;
    return SystemError(error == EEXIST ? ENOTDIR : error,
                       "make the directory of", directory);
  }
  return absl::OkStatus();
}

// What the comment of OpenFileSink() says of full disks.
absl::Status CheckSpace(int fd, const std::string& path, bool regular) {
  constexpr off_t kReserve = 4096;  // bytes; a few records
  if (WriteOnce(fd, "", 0) < 0) return SystemError(errno, "write to", path);
  if (!regular) return absl::OkStatus();

  // Reserving beyond a file size limit would raise SIGXFSZ.
  struct rlimit limit;
  const bool limited = getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
                       limit.rlim_cur < static_cast<rlim_t>(kReserve);
  if (!limited && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, kReserve) != 0 &&
      (errno == ENOSPC || errno == EDQUOT)) {
    return SystemError(errno, "write to", path);
  }
  struct statvfs info;
  if (fstatvfs(fd, &info) == 0 && info.f_blocks > 0 && info.f_bfree == 0) {
    return SystemError(ENOSPC, "write to", path);
  }
  return absl::OkStatus();
}

// Renames the log at `path` to "<path>.1" and `fresh` to `path`; or neither.
absl::Status Rotate(const std::string& fresh, const std::string& path) {
  const std::string old = absl::StrCat(path, ".1");
  if (std::rename(path.c_str(), old.c_str()) != 0) {
    return SystemError(errno, absl::StrCat("rename to ", old), path);
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::rename(old.c_str(), path.c_str());
    return SystemError(error, "open", path);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordSink>> OpenFileSink(
    const std::string& path, RecordFormatter formatter) {
  const auto invalid = [&path](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the log's path \"", path, "\" ", why, "; give the name of a file"));
  };
  if (path.empty()) return invalid("is empty");
  if (path.find('\0') != path.npos) return invalid("contains a NUL");
  if (path.back() == '/') return invalid("is that of a directory");

  bool exists = false;
  bool regular = true;
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    exists = true;
    regular = S_ISREG(info.st_mode);
    if (S_ISDIR(info.st_mode)) return invalid("is that of a directory");
    // Opening a pipe may block, writing to it may raise SIGPIPE.
    if (!regular && !S_ISCHR(info.st_mode)) {
      return invalid("is neither a file nor a character device");
    }
  } else if (const size_t slash = path.rfind('/'); slash != path.npos) {
    FG_RETURN_IF_ERROR(MakeDirectories(path.substr(0, slash)));
  }

  // An existing log stays where it is until the new one is known to be good;
  // on an error nothing is left changed.
  const bool rotate = exists && regular;
  const std::string opened =
      rotate ? absl::StrCat(path, ".new", getpid()) : path;
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY |
                    (rotate ? O_EXCL : 0);
  int fd;
  do {
    fd = open(opened.c_str(), flags, 0600);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return SystemError(errno, "open", path);
  FileDescriptor descriptor(fd);
  absl::Status status = CheckSpace(fd, path, regular);
  if (status.ok() && rotate) status = Rotate(opened, path);
  if (!status.ok()) {
    if (rotate || !exists) unlink(opened.c_str());
    return status;
  }
  return std::make_unique<FileSink>(path, std::move(descriptor), formatter);
}

std::string PathOfRank(absl::string_view path, int rank) {
  if (path.empty()) return "";
  const size_t slash = path.rfind('/');
  const size_t name = slash == path.npos ? 0 : slash + 1;
  const size_t dot = path.rfind('.');
  // A dot that starts the name hides the file; it is no extension.
  const size_t end = dot == path.npos || dot <= name ? path.size() : dot;
  return absl::StrCat(path.substr(0, end), ".rank", rank, path.substr(end));
}

}  // namespace flaggems
