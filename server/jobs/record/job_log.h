// How the lines of the log name a job, and what they say of its error.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "server/storage/records.h"

namespace mercer::server {

// "job=j-1", with the trace that it belongs to where there is one: "job=j-1 trace=4bf92f3577b34da6a3ce929d0e0e4736".
std::string LogNameOf(const JobRecord& job);

// The same with the number of the attempt: "job=j-1 attempt=2 trace=...".
std::string LogAttemptOf(const JobRecord& job);

// What the log may say of the error that ends a job: code and reason, and the message, but for errors about request and
// data. Those reach the client in full, and may quote a user's rows, which have no place in a log.
std::string LogTextOf(const absl::Status& error);

}  // namespace mercer::server
