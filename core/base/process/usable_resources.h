// How much of the machine this process may use: less than all where it runs in a control group with a limit (as containers do),
// version 1 or 2, its own or that of a group around it. `root`: the folder that holds proc and sys, for tests.
#pragma once

#include <cstdint>
#include <string>

namespace mercer {

int64_t UsableMemory(const std::string& root = "");

// Processors that it may run on, or, where that is fewer, as many as its group's share of processor time pays for, rounded up; >= 1.
int UsableProcessors(const std::string& root = "");

}  // namespace mercer
