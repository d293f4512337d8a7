// What mercer-server does instead of serving: inspects a data folder, or makes one of a backup.
#pragma once

#include <ostream>
#include <string>

namespace mercer::server {

// Writes one line per finding and a summary to `out`. The exit code: 0 when nothing is wrong (notes are not), 1 when
// something is, also when it was repaired, or when the folder cannot be inspected.
int RunCheck(const std::string& data_dir, bool repair, std::ostream& out, std::ostream& err);

// The exit code.
int RunRestore(const std::string& archive, const std::string& data_dir, std::ostream& out,
               std::ostream& err);

}  // namespace mercer::server
