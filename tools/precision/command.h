#ifndef FLAGGEMS_TOOLS_PRECISION_COMMAND_H_
#define FLAGGEMS_TOOLS_PRECISION_COMMAND_H_

// A subcommand of `precision`.

#include <string>
#include <vector>

namespace flaggems {

// What the process exits with.
enum ExitCode : int {
  kExitClean = 0,     // everything that was checked is right
  kExitFailures = 1,  // an operator is wrong
  kExitUsage = 2,     // the command line does not say what to do
  kExitNotRun = 3,    // the model could not be run, or a check not be made
};

struct Command {
  const char* name;
  const char* arguments;  // "MODEL"
  const char* summary;    // one line
  const char* help;       // what `precision NAME --help` says above the flags
  std::vector<const char*> flags;  // flags of this command, in help's order
  // `arguments` are the words after the command that are no flags.
  int (*run)(const std::vector<std::string>& arguments);
};

const Command& RunCommand();
const Command& ListCommand();
const Command& SelftestCommand();

}  // namespace flaggems

#endif  // FLAGGEMS_TOOLS_PRECISION_COMMAND_H_
