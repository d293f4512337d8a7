// "mercer-server token": makes a token for somebody.
#pragma once

#include <functional>
#include <ostream>

#include <CLI/CLI.hpp>

namespace mercer::server {

// Adds the command to `app`. When it is chosen, `*run` is set to what does its work and answers the exit
// code: the line for the token file goes to `out` and the token itself to `err`, so that
// "mercer-server token ... >> FILE" keeps the one and shows the other. The token is written to a file only
// where --token-out names one.
void AddTokenCommand(CLI::App& app, std::function<int(std::ostream& out, std::ostream& err)>* run);

}  // namespace mercer::server
