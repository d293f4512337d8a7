// The program as a function, for main() and for tests.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "client/cpp/cli/terminal.h"

namespace mercer::client {

// Runs the command line `arguments` (without the program's name) and returns the exit code.
int RunCommandLine(std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
                   const Terminal& terminal);

}  // namespace mercer::client
