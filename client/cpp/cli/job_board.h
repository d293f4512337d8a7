// Many jobs at a glance: a list, and one that follows their changes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "client/cpp/cli/exit_code.h"
#include "client/cpp/cli/session.h"
#include "client/cpp/cli/text.h"
#include "mercer/v1/training_service.pb.h"

namespace mercer::client {

// "running", "cancelled (NO_MODEL)"
std::string StateText(const v1::Job& job);

// The table of jobs, empty, and a job's row of it.
Table NewJobTable();
std::vector<std::string> JobRow(const v1::Job& job);
// What a job of another kind than a training has left, as lines.
std::string FormatResult(const v1::Job& job);

// The jobs that a watch has told of.
class JobBoard {
 public:
  // A line that says what is new, without its end; empty when nothing that shows is.
  std::string Hear(const v1::WatchJobsResponse& response);
  // The stream broke: what has come of a list counts no longer.
  void Interrupt() { told_.clear(); }
  // The newest jobs, at most `limit`.
  Table Newest(int limit) const;
  // All that existed have been told of.
  bool complete() const { return complete_; }
  size_t size() const { return jobs_.size(); }

 private:
  std::map<std::string, v1::Job> jobs_;  // by name
  std::set<std::string> told_;           // of a list, until it is complete
  bool complete_ = false;
};

// Shows the jobs of `filter` and their changes until Ctrl-C.
absl::StatusOr<ExitCode> WatchJobs(Session& session, const v1::WatchJobsRequest& filter, int limit);

}  // namespace mercer::client
