// How the lines of the log name a job.
#pragma once

#include <string>

#include "server/storage/records.h"

namespace mercer::server {

// "job=j-1", with the trace that it belongs to where there is one: "job=j-1 trace=4bf92f3577b34da6a3ce929d0e0e4736".
std::string LogNameOf(const JobRecord& job);

// The same with the number of the attempt: "job=j-1 attempt=2 trace=...".
std::string LogAttemptOf(const JobRecord& job);

}  // namespace mercer::server
