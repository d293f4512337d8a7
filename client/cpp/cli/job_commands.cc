#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cpp/cli/commands.h"
#include "client/cpp/cli/field_words.h"
#include "client/cpp/cli/job_board.h"
#include "client/cpp/cli/list_texts.h"
#include "client/cpp/cli/model_text.h"
#include "client/cpp/cli/progress_display.h"
#include "client/cpp/cli/text.h"
#include "client/cpp/cli/update_flags.h"
#include "client/cpp/errors.h"
#include "client/cpp/field_text.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

constexpr double kDefaultGap = 1e-3;

struct JobFlags {
  std::string job;
};

struct JobRemovalFlags {
  std::vector<std::string> jobs;
};

struct JobListFlags {
  std::vector<std::string> states;
  std::vector<std::string> kinds;
  std::vector<std::string> labels;
  ListTexts texts;
  int limit = 50;
  bool watch = false;
};

double TargetGap(const v1::Job& job) {
  const v1::Stopping& stopping = job.request().stopping();
  return stopping.has_relative_gap() ? stopping.relative_gap() : kDefaultGap;
}

absl::StatusOr<ExitCode> ReportSuccess(Session& session, const v1::Job& job, int told_decisions) {
  if (session.json()) {
    return ExitCode::kOk;
  }
  if (job.result_case() != v1::Job::RESULT_NOT_SET) {
    session.out() << FormatResult(job) << std::flush;
    return ExitCode::kOk;
  }
  MERCER_ASSIGN_OR_RETURN(v1::ModelVersion model, session.client().GetModelVersion(
                                                      job.model(), v1::MODEL_VERSION_VIEW_BASIC));
  // The model's warnings begin with the decisions of its request.
  model.mutable_warnings()->DeleteSubrange(0, std::min(told_decisions, model.warnings_size()));
  session.out() << job.model() << "  "
                << EnumWord(*v1::StopReason_descriptor(), model.stop_reason()) << "\n"
                << FormatCertificate(model.certificate()) << FormatMetrics(model.metrics())
                << FormatWarnings(model.warnings(), session.terminal()) << "Show it: mercer show "
                << model.name() << std::endl;
  return ExitCode::kOk;
}

// What the final state of a job means for the user and for scripts.
absl::StatusOr<ExitCode> ReportEnd(Session& session, const v1::Job& job, int told_decisions) {
  if (session.json()) {
    session.PrintJson(job);
  }
  switch (job.state()) {
    case v1::JOB_STATE_SUCCEEDED:
      return ReportSuccess(session, job, told_decisions);
    case v1::JOB_STATE_FAILED:
      if (!session.json()) {
        session.err() << "error: " << job.name()
                      << " failed: " << FormatError(ToAbslStatus(job.error()), &kFlagWords)
                      << std::endl;
      }
      return ExitCode::kFailed;
    case v1::JOB_STATE_CANCELLED:
      if (!session.json()) {
        session.err() << job.name() << " was cancelled"
                      << (job.reason().empty() ? "" : absl::StrCat(" (", job.reason(), ")"))
                      << std::endl;
      }
      return ExitCode::kJobCancelled;
    default:
      return absl::InternalError(
          absl::StrCat("the events of ", job.name(), " ended in state ", StateText(job)));
  }
}

absl::Status ReadWords(const char* flag, const google::protobuf::EnumDescriptor& type,
                       const std::vector<std::string>& words,
                       google::protobuf::RepeatedField<int>& numbers) {
  for (const std::string& word : words) {
    numbers.Add(EnumNumber(type, word));
    if (numbers[numbers.size() - 1] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          flag, ": must be one of ", absl::StrJoin(EnumWords(type), ", "), ", is '", word, "'"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> ListJobs(Session& session, const JobListFlags& flags) {
  v1::ListJobsRequest filter;
  MERCER_RETURN_IF_ERROR(
      ReadWords("--state", *v1::JobState_descriptor(), flags.states, *filter.mutable_states()));
  MERCER_RETURN_IF_ERROR(
      ReadWords("--kind", *v1::JobKind_descriptor(), flags.kinds, *filter.mutable_kinds()));
  for (const std::string& text : flags.labels) {
    MERCER_ASSIGN_OR_RETURN(const auto label, SplitAssignment("--label", text));
    (*filter.mutable_labels())[label.first] = label.second;
  }
  SetListTexts(flags.texts, filter);
  if (flags.watch) {
    v1::WatchJobsRequest watched;
    *watched.mutable_states() = filter.states();
    *watched.mutable_kinds() = filter.kinds();
    *watched.mutable_labels() = filter.labels();
    return WatchJobs(session, watched, flags.limit);
  }
  MERCER_ASSIGN_OR_RETURN(std::vector<v1::Job> jobs,
                          session.client().ListJobs(filter, flags.limit + 1));
  const bool more = CutToLimit(flags.limit, jobs);
  Table table = NewJobTable();
  for (const v1::Job& job : jobs) {
    if (session.json()) {
      session.PrintJson(job);
    } else {
      table.AddRow(JobRow(job));
    }
  }
  if (!session.json()) {
    session.PrintTable(table, "no jobs");
  }
  return session.EndList(more, flags.limit);
}

absl::StatusOr<ExitCode> Watch(Session& session, const JobFlags& flags) {
  return WatchToTheEnd(session, FullName("jobs", flags.job));
}

ExitCode ReportState(Session& session, const v1::Job& job) {
  if (session.json()) {
    session.PrintJson(job);
  } else {
    const bool stopping = job.stop_requested() && !job.has_end_time();
    session.out() << job.name() << "  " << StateText(job) << (stopping ? ", stopping" : "")
                  << std::endl;
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> Stop(Session& session, const JobFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(const v1::Job job, session.client().StopJob(FullName("jobs", flags.job)));
  return ReportState(session, job);
}

absl::StatusOr<ExitCode> Cancel(Session& session, const JobFlags& flags) {
  MERCER_ASSIGN_OR_RETURN(const v1::Job job,
                          session.client().CancelJob(FullName("jobs", flags.job)));
  return ReportState(session, job);
}

absl::StatusOr<ExitCode> UpdateJob(Session& session, const UpdateFlags& flags) {
  v1::UpdateJobRequest request;
  MERCER_RETURN_IF_ERROR(ReadUpdateFlags(flags, FullName("jobs", flags.name),
                                         *request.mutable_job(), *request.mutable_update_mask()));
  return PrintUpdated(session, session.client().UpdateJob(request));
}

absl::StatusOr<ExitCode> Remove(Session& session, const JobRemovalFlags& flags) {
  for (const std::string& given : flags.jobs) {
    const std::string name = FullName("jobs", given);
    MERCER_RETURN_IF_ERROR(session.client().DeleteJob(name));
    session.PrintDeleted(name);
  }
  return ExitCode::kOk;
}

ExitCode Detach(Session& session, const std::string& job) {
  session.PrintNote(
      absl::StrCat("no longer watched; the job goes on. Watch it again: mercer watch ", job,
                   "   End it: mercer cancel ", job));
  return ExitCode::kInterrupted;
}

// What stands before a command that changes jobs narrows the list alone.
void RefuseListFlags(CLI::App& command, CLI::App& jobs) {
  for (const char* of_list :
       {"--state", "--kind", "--label", "--filter", "--order-by", "--limit", "--watch"}) {
    command.excludes(jobs.get_option(of_list));
  }
}

void AddUpdate(CommandLine& line, CLI::App& jobs) {
  auto flags = std::make_shared<UpdateFlags>();
  CLI::App* command =
      line.Add(jobs, "update", "Change labels or display name of a job", flags, &UpdateJob);
  command->add_option("JOB", flags->name, "Name of the job")->required();
  AddUpdateFlags(*command, *flags);
  RefuseListFlags(*command, jobs);
}

void AddRemoval(CommandLine& line, CLI::App& jobs) {
  auto flags = std::make_shared<JobRemovalFlags>();
  CLI::App* command =
      line.Add(jobs, "rm", "Delete jobs that have ended; their models stay", flags, &Remove);
  command->alias("delete");
  command->add_option("JOB", flags->jobs, "Names of the jobs")->required();
  RefuseListFlags(*command, jobs);
}

}  // namespace

absl::StatusOr<ExitCode> WatchToTheEnd(Session& session, const std::string& job_name,
                                       int told_decisions) {
  const std::stop_token interrupt = session.CatchInterrupts();
  const absl::StatusOr<v1::Job> job = session.client().GetJob(job_name);
  if (interrupt.stop_requested()) {
    return Detach(session, job_name);
  }
  MERCER_RETURN_IF_ERROR(job.status());
  ProgressDisplay display(session, TargetGap(*job));
  WatchOptions options;
  options.stop = interrupt;
  options.on_event = [&](const v1::ProgressEvent& event) { display.Show(event); };
  options.on_interruption = [&](const absl::Status& why, absl::Duration delay) {
    if (!session.json()) {
      display.Note(absl::StrCat("the connection broke (", why.message(), "); again in ",
                                FormatElapsed(delay)));
    }
  };
  const absl::Status watched = session.client().WatchJob(job_name, options);
  display.Finish();
  if (interrupt.stop_requested()) {
    return Detach(session, job_name);
  }
  MERCER_RETURN_IF_ERROR(watched);
  MERCER_ASSIGN_OR_RETURN(const v1::Job ended, session.client().GetJob(job_name));
  return ReportEnd(session, ended, told_decisions);
}

void AddJobCommands(CommandLine& line) {
  auto list = std::make_shared<JobListFlags>();
  CLI::App* jobs = line.Add(line.app, "jobs", "List jobs, newest first", list, &ListJobs);
  jobs->add_option("--state", list->states,
                   "Only in this state: queued, running, cancelling, verifying, succeeded, failed, "
                   "cancelled (repeatable)")
      ->allow_extra_args(false);
  jobs->add_option("--kind", list->kinds,
                   "Only of this kind: training, prediction, evaluation, verification (repeatable)")
      ->allow_extra_args(false);
  jobs->add_option("--label", list->labels, "Only with this label, NAME=VALUE (repeatable)")
      ->allow_extra_args(false);
  jobs->add_option("--limit", list->limit, "At most this many")
      ->check(CLI::Range(1, kMaxListed))
      ->capture_default_str();
  AddListTexts(list->texts, *jobs);
  jobs->add_flag(
          "--watch", list->watch,
          "Go on with every change: a table that is drawn again on a terminal, else a line per "
          "change")
      ->excludes("--filter", "--order-by");
  AddUpdate(line, *jobs);
  AddRemoval(line, *jobs);

  const auto add = [&line](const char* name, const char* description, auto run) {
    auto flags = std::make_shared<JobFlags>();
    CLI::App* command = line.Add(line.app, name, description, flags, run);
    command->add_option("JOB", flags->job, "Name of the job")->required();
  };
  add("watch", "Watch a job from its beginning to its end", &Watch);
  add("stop", "End a job now and keep the best model so far", &Stop);
  add("cancel", "End a job without a model", &Cancel);
}

}  // namespace mercer::client
