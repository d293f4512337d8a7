// mercer: the command line.
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

#include "client/cpp/cli/run.h"

int main(int argc, char** argv) {
  return mercer::client::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), std::cout,
                                        std::cerr,
                                        mercer::client::Terminal::Inspect(STDOUT_FILENO));
}
