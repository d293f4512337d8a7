#include "client/cpp/cli/job_board.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cpp/cli/model_text.h"
#include "client/cpp/field_text.h"

namespace mercer::client {
namespace {

// The cursor to the upper left, and nothing below it.
constexpr char kClearScreen[] = "\x1b[H\x1b[2J";

// The learner of a training, or what else it does.
std::string WorkOf(const v1::Job& job) {
  return job.learner().empty() ? EnumWord(*v1::JobKind_descriptor(), job.kind()) : job.learner();
}

std::string DatasetOf(const v1::Job& job) {
  switch (job.other_request_case()) {
    case v1::Job::kPredictionRequest:
      return job.prediction_request().dataset();
    case v1::Job::kEvaluationRequest:
      return job.evaluation_request().dataset();
    default:
      return job.request().data().empty() ? "" : job.request().data(0).dataset();
  }
}

// The model or data set.
std::string MadeBy(const v1::Job& job) {
  return job.has_prediction() ? job.prediction().dataset() : job.model();
}

std::string DescribeJob(const v1::Job& job) {
  std::vector<std::string> parts = {job.name(), StateText(job)};
  if (const std::string work = WorkOf(job); !work.empty()) {
    parts.push_back(work);
  }
  const v1::TrainingProgress& progress = job.progress().progress();
  if (progress.has_relative_gap()) {
    parts.push_back(absl::StrCat("gap ", FormatGap(progress.relative_gap())));
  }
  if (const std::string made = MadeBy(job); !made.empty()) {
    parts.push_back(made);
  }
  return absl::StrJoin(parts, "  ");
}

bool IsNewer(const v1::Job* a, const v1::Job* b) {
  const auto key = [](const v1::Job* job) {
    return std::make_tuple(-job->create_time().seconds(), -job->create_time().nanos(), job->name());
  };
  return key(a) < key(b);
}

void Draw(Session& session, const JobBoard& board, int limit) {
  session.out() << kClearScreen;
  session.PrintTable(board.Newest(limit), "no jobs");
  if (board.size() > static_cast<size_t>(limit)) {
    session.out() << "and " << board.size() - static_cast<size_t>(limit) << " more" << std::endl;
  }
}

}  // namespace

std::string StateText(const v1::Job& job) {
  const std::string state = EnumWord(*v1::JobState_descriptor(), job.state());
  return job.reason().empty() ? state : absl::StrCat(state, " (", job.reason(), ")");
}

Table NewJobTable() {
  return Table({"JOB", "STATE", "LEARNER", "DATA SET", "CREATED", "GAP", "MODEL"});
}

std::vector<std::string> JobRow(const v1::Job& job) {
  const v1::TrainingProgress& progress = job.progress().progress();
  return {job.name(),
          StateText(job),
          WorkOf(job),
          DatasetOf(job),
          FormatTime(job.create_time()),
          progress.has_relative_gap() ? FormatGap(progress.relative_gap()) : "",
          MadeBy(job)};
}

std::string JobBoard::Hear(const v1::WatchJobsResponse& response) {
  if (response.existing_sent()) {
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      job = told_.contains(job->first) ? std::next(job) : jobs_.erase(job);
    }
    told_.clear();
    complete_ = true;
    return "";
  }
  const v1::Job& job = response.job();
  if (response.left()) {
    const bool known = jobs_.erase(job.name()) > 0;
    return known ? absl::StrCat(DescribeJob(job), response.deleted() ? "  deleted" : "") : "";
  }
  if (response.existing()) {
    complete_ = false;
    told_.insert(job.name());
  }
  v1::Job& known = jobs_[job.name()];
  std::string line = DescribeJob(job);
  const bool same = known.name() == job.name() && DescribeJob(known) == line;
  known = job;
  return same ? "" : line;
}

Table JobBoard::Newest(int limit) const {
  std::vector<const v1::Job*> jobs;
  for (const auto& [name, job] : jobs_) {
    jobs.push_back(&job);
  }
  const size_t shown = std::min(jobs.size(), static_cast<size_t>(limit));
  std::partial_sort(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(shown), jobs.end(),
                    IsNewer);
  Table table = NewJobTable();
  for (size_t i = 0; i < shown; ++i) {
    table.AddRow(JobRow(*jobs[i]));
  }
  return table;
}

absl::StatusOr<ExitCode> WatchJobs(Session& session, const v1::WatchJobsRequest& filter,
                                   int limit) {
  JobBoard board;
  const bool draws = session.terminal().interactive && !session.json();
  WatchJobsOptions options;
  options.stop = session.CatchInterrupts();
  options.on_message = [&](const v1::WatchJobsResponse& message) {
    if (session.json()) {
      session.PrintJson(message);
      return;
    }
    const std::string line = board.Hear(message);
    if (draws && board.complete() && (message.existing_sent() || !line.empty())) {
      Draw(session, board, limit);
    } else if (!draws && !line.empty()) {
      session.out() << line << std::endl;
    }
  };
  options.on_interruption = [&](const absl::Status& why, absl::Duration delay) {
    board.Interrupt();
    if (!session.json()) {
      session.err() << "the connection broke (" << std::string(why.message()) << "); again in "
                    << FormatElapsed(delay) << std::endl;
    }
  };
  const absl::Status watched = session.client().WatchJobs(filter, options);
  if (options.stop.stop_requested()) {
    return ExitCode::kInterrupted;
  }
  return watched;
}

std::string FormatResult(const v1::Job& job) {
  switch (job.result_case()) {
    case v1::Job::kPrediction: {
      const v1::PredictDatasetResult& made = job.prediction();
      std::string text = absl::StrCat(made.dataset(), "  ", made.rows() - made.unpredicted_rows(),
                                      " rows predicted by ", made.model(), "\n");
      if (made.unpredicted_rows() > 0) {
        absl::StrAppend(&text, made.unpredicted_rows(),
                        " rows have a category that training did not know; their values are "
                        "missing\n");
      }
      return text;
    }
    case v1::Job::kEvaluation:
      return absl::StrCat(job.evaluation().model(), "\n",
                          FormatMetrics(job.evaluation().metrics()));
    case v1::Job::kVerification:
      return absl::StrCat(
          job.verification().model(), "  ",
          job.verification().matches() ? "the certificate is right" : "THE CERTIFICATE IS WRONG",
          "\n", FormatCertificate(job.verification().certificate()));
    case v1::Job::RESULT_NOT_SET:
      break;
  }
  return "";
}

}  // namespace mercer::client
