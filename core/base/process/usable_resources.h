// How much memory this process may use.
#pragma once

#include <cstdint>
#include <string>

namespace mercer {

// The machine's memory, or less where the process runs in a control group with a limit (as
// containers do), version 1 or 2, its own or that of a group around it. `root`: the folder that
// holds proc and sys, for tests.
int64_t UsableMemory(const std::string& root = "");

}  // namespace mercer
