// What mercer-server does instead of serving: makes a token, inspects a data folder, or makes one of a backup.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>

namespace mercer::server {

// The work of a command; answers the exit code.
using Command =
    std::function<int(const std::string& data_dir, std::ostream& out, std::ostream& err)>;

// Adds the commands to `app`, and sets `command` when one is chosen.
//
// "token" writes the line for the token file to `out` and the token itself to `err`, so that
// "mercer-server token ... >> FILE" keeps the one and shows the other. The token is written to a file only
// where --token-out names one.
void AddCommands(CLI::App& app, Command& command);

// Writes one line per finding and a summary to `out`. The exit code: 0 when nothing is wrong (notes are not), 1 when
// something is, also when it was repaired, or when the folder cannot be inspected.
int RunCheck(const std::string& data_dir, bool repair, std::ostream& out, std::ostream& err);

}  // namespace mercer::server
