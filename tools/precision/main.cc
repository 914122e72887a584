// precision: checks the operator kernels that a model runs.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "tools/precision/command.h"
#include "tools/precision/flag_check.h"

namespace flaggems {
namespace {

const Command* FindCommand(const std::string& name) {
  for (const Command* command :
       {&RunCommand(), &ListCommand(), &SelftestCommand()}) {
    if (name == command->name) return command;
  }
  return nullptr;
}

void PrintUsage(FILE* out) {
  std::fputs(
      "precision: runs a model and checks every operator kernel it calls "
      "against torch's native CPU kernel.\n\n"
      "  precision COMMAND [ARGUMENTS] [FLAGS]\n\n",
      out);
  for (const Command* command :
       {&RunCommand(), &ListCommand(), &SelftestCommand()}) {
    std::fprintf(out, "  %-8s %-9s %s\n", command->name, command->arguments,
                 command->summary);
  }
  std::fputs(
      "\nprecision COMMAND --help tells more. docs/flags.md lists the options "
      "of the check.\n",
      out);
}

void PrintFlag(const std::string& name) {
  const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
  if (flag == nullptr) return;
  const std::string value = flag->DefaultValue();
  std::printf("  --%s%s%s\n      %s\n", name.c_str(), value.empty() ? "" : "=",
              value.c_str(), flag->Help().c_str());
}

void PrintHelp(const Command& command) {
  std::printf("precision %s %s [FLAGS]\n\n%s\n\nFlags, with their defaults:\n",
              command.name, command.arguments, command.help);
  for (const char* flag : command.flags) PrintFlag(flag);
  std::printf(
      "  --flagfile=FILE\n      reads flags from a file, one a line\n"
      "\nOptions of the check (--precision_<field>): docs/flags.md.\n");
}

// `bazel run` starts programs in a folder of its own; paths on the command line
// are the caller's.
void ReturnToCallersDirectory() {
  const char* const directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::fprintf(stderr, "precision: cannot change to %s: %s\n", directory,
                 std::strerror(errno));
  }
}

int Main(int argc, char** argv) {
  if (fcntl(STDOUT_FILENO, F_GETFD) < 0) {
    std::fputs(
        "precision: standard output is closed; there is no place for the "
        "report\n",
        stderr);
    return kExitNotRun;
  }
  ReturnToCallersDirectory();
  const std::vector<std::string> words(argv + 1, argv + argc);
  bool help = false;
  std::string command_name;
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") help = true;
    if (command_name.empty() && !absl::StartsWith(word, "-")) {
      command_name = word;
    }
  }
  const Command* command = FindCommand(command_name);
  if (help) {
    if (command != nullptr) {
      PrintHelp(*command);
    } else {
      PrintUsage(stdout);
    }
    return kExitClean;
  }
  if (command == nullptr) {
    if (command_name.empty()) {
      std::fputs("precision: which command?\n\n", stderr);
    } else {
      std::fprintf(stderr, "precision: unknown command \"%s\"\n\n",
                   command_name.c_str());
    }
    PrintUsage(stderr);
    return kExitUsage;
  }
  const absl::Status flags = CheckFlags(words);
  if (!flags.ok()) {
    std::fprintf(stderr, "precision %s: %s\n", command->name,
                 std::string(flags.message()).c_str());
    return kExitUsage;
  }
  std::vector<std::string> arguments;
  for (const char* word : absl::ParseCommandLine(argc, argv)) {
    arguments.emplace_back(word);
  }
  // The program's and the command's name.
  arguments.erase(arguments.begin(), arguments.begin() + 2);
  int code = command->run(arguments);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "precision %s: the report cannot be written: %s\n",
                 command->name, std::strerror(errno));
    if (code == kExitClean) code = kExitNotRun;
  }
  return code;
}

}  // namespace
}  // namespace flaggems

int main(int argc, char** argv) { return flaggems::Main(argc, argv); }
