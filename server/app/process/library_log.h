// Lines that protobuf and gRPC would write to stderr by themselves, as many as there are bad messages.
#pragma once

#include <memory>

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::server {

// From now on they go to `log`, 20 in a second; a line tells how many others there were. Both libraries have one such log for
// the whole process, so it is for the program to call, once, before it serves.
void TakeLibraryLogs(std::shared_ptr<spdlog::logger> log);

}  // namespace mercer::server
