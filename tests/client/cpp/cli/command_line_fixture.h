// The program as users call it, against a server whose answers the test dictates.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "client/cpp/cli/run.h"
#include "tests/client/cpp/fake_server.h"

namespace mercer::client {

inline int CountLines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

class CommandLineTest : public ::testing::Test {
 protected:
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server_.address()});
    out_.str("");
    err_.str("");
    return RunCommandLine(arguments, out_, err_, Terminal());
  }

  FakeServer server_;
  std::ostringstream out_;
  std::ostringstream err_;
};

}  // namespace mercer::client
