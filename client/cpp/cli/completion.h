// Which words may stand next on the command line, for shells that complete them.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "client/cpp/cli/session.h"

namespace mercer::client {

// Takes the server and how to speak with it from the flags among `words`, but for the last, which is still being written.
void TakeServerFlags(const std::vector<std::string>& words, SessionOptions& options);

// The words that the last of `words` may become; those before it stand in front of it, behind the program's name. Names of
// models, data sets, jobs and learners, and options of learners, are asked of the server, once and for a second at most; without
// one, or without a session, there are none. Empty also where a file is wanted, which shells complete by themselves.
std::vector<std::string> CompleteWord(const CLI::App& app, Session* session,
                                      const std::vector<std::string>& words);

}  // namespace mercer::client
