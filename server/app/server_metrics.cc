#include "server/app/server_metrics.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>
#include <unistd.h>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include <prometheus/text_serializer.h>

#include "core/training/contract/learner.h"
#include "server/app/server_options.h"
#include "server/translation/enum_translator.h"
#include "server/translation/job_translator.h"

namespace mercer::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// Jobs that have not ended are looked at one by one, up to so many.
constexpr size_t kMaxJobs = 10'000;
// Seconds, from a quick look-up to a prediction of many rows.
const prometheus::Histogram::BucketBoundaries kCallSeconds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600};
// From a worker that was free and a fit in a loop over parameters to a queue and a training of days.
const prometheus::Histogram::BucketBoundaries kJobSeconds = {
    0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 1800, 7200, 28'800, 86'400};

// "queued", "running", ...
std::string StateLabel(JobState state) {
  const std::string_view name = JobStateName(state);
  return absl::AsciiStrToLower(absl::string_view(name.data(), name.size()));
}

// "training", "prediction", ...
std::string KindLabel(JobKind kind) {
  const auto* const value = v1::JobKind_descriptor()->FindValueByNumber(static_cast<int>(kind));
  return value == nullptr ? "other" : absl::AsciiStrToLower(EnumeratorWord(*value));
}

// What is read when somebody asks.
class Families {
 public:
  using Labels = std::vector<prometheus::ClientMetric::Label>;
  struct Value {
    double value;
    Labels labels = {};
  };

  explicit Families(std::vector<MetricFamily> counted) : all_(std::move(counted)) {}

  void Add(const char* name, const char* help, MetricType type, std::vector<Value> values) {
    MetricFamily& family = all_.emplace_back(MetricFamily{name, help, type, {}});
    for (Value& value : values) {
      prometheus::ClientMetric& metric = family.metric.emplace_back();
      metric.label = std::move(value.labels);
      (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value.value;
    }
  }
  template <typename Number>
  void Gauge(const char* name, const char* help, Number value, Labels labels = {}) {
    Add(name, help, MetricType::Gauge, {{static_cast<double>(value), std::move(labels)}});
  }
  void Add(MetricFamily family) { all_.push_back(std::move(family)); }

  const std::vector<MetricFamily>& all() const { return all_; }

 private:
  std::vector<MetricFamily> all_;
};

double ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::vector<JobRecord> UnfinishedJobs(Storage& storage) {
  const JobFilter filter{
      {JobState::kQueued, JobState::kRunning, JobState::kCancelling, JobState::kVerifying}, {}};
  std::vector<JobRecord> jobs;
  PageRequest request;
  request.size = kMaxPageSize;
  do {
    absl::StatusOr<Page<JobRecord>> page = storage.jobs().ListJobs(filter, request);
    if (!page.ok()) {
      break;
    }
    request.token = page->next_token;
    std::move(page->items.begin(), page->items.end(), std::back_inserter(jobs));
  } while (!request.token.empty() && jobs.size() < kMaxJobs);
  return jobs;
}

void AddJobs(Storage& storage, Families& families) {
  std::vector<Families::Value> by_state;
  if (const auto counts = storage.jobs().CountJobs(); counts.ok()) {
    for (const auto& [state, count] : *counts) {
      by_state.push_back({static_cast<double>(count), {{"state", StateLabel(state)}}});
    }
  }
  std::map<std::tuple<std::string, std::string, std::string>, int64_t> counts;
  std::vector<Families::Value> gaps;
  absl::Duration longest_wait;
  for (const JobRecord& job : UnfinishedJobs(storage)) {
    ++counts[{StateLabel(job.state), KindLabel(job.kind), job.learner}];
    if (job.state == JobState::kQueued) {
      longest_wait = std::max(longest_wait, absl::Now() - job.create_time);
    }
    const auto written = WriteJob(job, {});
    if (written.ok() && written->progress().progress().has_relative_gap()) {
      gaps.push_back({written->progress().progress().relative_gap(),
                      {{"job", written->name()}, {"learner", job.learner}}});
    }
  }
  std::vector<Families::Value> unfinished;
  for (const auto& [key, count] : counts) {
    const auto& [state, kind, learner] = key;
    Families::Value& value = unfinished.emplace_back(
        Families::Value{static_cast<double>(count), {{"state", state}, {"kind", kind}}});
    if (!learner.empty()) {
      value.labels.push_back({"learner", learner});
    }
  }
  families.Add("mercer_jobs", "Jobs that are kept, by state.", MetricType::Gauge, by_state);
  families.Add("mercer_unfinished_jobs", "Jobs that have not ended, by state, kind and learner.",
               MetricType::Gauge, unfinished);
  families.Add("mercer_job_relative_gap", "Last known relative gap of each running job.",
               MetricType::Gauge, gaps);
  families.Gauge("mercer_queue_longest_wait_seconds", "Age of the oldest queued job.",
                 absl::ToDoubleSeconds(longest_wait));
}

void AddCache(const ModelCacheUse& use, Families& families) {
  families.Gauge("mercer_model_cache_models", "Versions of models in memory.", use.models);
  families.Gauge("mercer_model_cache_bytes", "Memory that they take.", use.bytes);
  families.Add("mercer_model_cache_hits_total", "Times that a version was needed and in memory.",
               MetricType::Counter, {{static_cast<double>(use.hits)}});
  families.Add("mercer_model_cache_misses_total",
               "Times that a version was needed and had to be read.", MetricType::Counter,
               {{static_cast<double>(use.misses)}});
}

// Versions that metrics have time series for: those that were called last.
constexpr ptrdiff_t kMostModels = 1000;

void AddPredictions(const PredictionStatisticsTable& table, Families& families) {
  std::vector<Families::Value> calls;
  std::vector<Families::Value> rows;
  MetricFamily latency{
      "mercer_prediction_seconds", "Latency of each model's version.", MetricType::Summary, {}};
  // Times that stay as they are while they are compared: calls go on.
  std::vector<std::pair<absl::Time, std::shared_ptr<const PredictionStatistics>>> models;
  for (auto& model : table.All()) {
    const absl::Time last_call = model->last_call();
    models.emplace_back(last_call, std::move(model));
  }
  if (models.size() > kMostModels) {
    std::nth_element(models.begin(), models.begin() + kMostModels, models.end(), std::greater<>());
    models.resize(kMostModels);
  }
  for (const auto& [last_call, model] : models) {
    const prometheus::ClientMetric::Label name = {"model", model->model()};
    calls.push_back({static_cast<double>(model->succeeded()), {name, {"result", "ok"}}});
    calls.push_back({static_cast<double>(model->failed()), {name, {"result", "error"}}});
    rows.push_back({static_cast<double>(model->rows()), {name}});
    prometheus::ClientMetric& metric = latency.metric.emplace_back();
    metric.label = {name};
    metric.summary.sample_count = static_cast<uint64_t>(model->latency().count());
    metric.summary.sample_sum = absl::ToDoubleSeconds(model->latency().sum());
    for (const double share : {0.5, 0.9, 0.99}) {
      metric.summary.quantile.push_back(
          {share, absl::ToDoubleSeconds(model->latency().Quantile(share))});
    }
  }
  families.Add("mercer_predictions_total", "Predictions of each model's version, by result.",
               MetricType::Counter, calls);
  families.Add("mercer_predicted_rows_total", "Rows predicted by each model's version.",
               MetricType::Counter, rows);
  families.Add(std::move(latency));
}

}  // namespace

ServerMetrics::ServerMetrics(const std::vector<const LearnerEntry*>& learners)
    : started_(absl::Now()),
      calls_(prometheus::BuildCounter()
                 .Name("mercer_calls_total")
                 .Help("Calls that have ended, over gRPC and HTTP, by method and code.")
                 .Register(registry_)),
      call_seconds_(prometheus::BuildHistogram()
                        .Name("mercer_call_seconds")
                        .Help("How long calls took, by method; streams to their end.")
                        .Register(registry_)),
      finished_(prometheus::BuildCounter()
                    .Name("mercer_jobs_finished_total")
                    .Help("Jobs that have ended since the server started, by kind, learner and "
                          "state.")
                    .Register(registry_)),
      training_(prometheus::BuildHistogram()
                    .Name("mercer_training_seconds")
                    .Help("How long workers were busy with each attempt at a job, verification "
                          "included, by kind and learner.")
                    .Register(registry_)),
      waits_(prometheus::BuildHistogram()
                 .Name("mercer_queue_wait_seconds")
                 .Help("How long jobs were queued before a worker took them for the first time.")
                 .Register(registry_)
                 .Add({}, kJobSeconds)) {
  const auto begin = [this](JobKind kind, const std::string& learner) {
    training_.Add(LabelsOf(kind, learner), kJobSeconds);
    for (const JobState state : {JobState::kSucceeded, JobState::kFailed, JobState::kCancelled}) {
      FinishedOf(kind, learner, state);
    }
  };
  for (const LearnerEntry* learner : learners) {
    learners_.insert(learner->name);
    begin(JobKind::kTraining, learner->name);
  }
  for (const JobKind kind : {JobKind::kPrediction, JobKind::kEvaluation, JobKind::kVerification}) {
    begin(kind, "");
  }
}

void ServerMetrics::OnClaimed(const JobRecord& job) {
  // Whatever comes before a later attempt is no wait for a worker: a restart, or a pause after a failure.
  if (job.attempt == 1) {
    const double seconds = absl::ToDoubleSeconds(job.start_time - job.create_time);
    waits_.Observe(std::max(seconds, 0.0));  // of a clock that may have been set back
  }
}

void ServerMetrics::OnWorked(const JobRecord& job, absl::Duration time) {
  training_.Add(LabelsOf(job.kind, job.learner), kJobSeconds).Observe(absl::ToDoubleSeconds(time));
}

void ServerMetrics::OnEnded(const JobRecord& job) {
  FinishedOf(job.kind, job.learner, job.state).Increment();
}

void ServerMetrics::OnCall(const char* method, absl::StatusCode code, absl::Duration duration) {
  calls_.Add({{"method", method}, {"code", absl::StatusCodeToString(code)}}).Increment();
  call_seconds_.Add({{"method", method}}, kCallSeconds).Observe(absl::ToDoubleSeconds(duration));
}

absl::Status ServerMetrics::Admit(const std::vector<std::string_view>& authorization) const {
  return dependencies_.open
             ? absl::OkStatus()
             : dependencies_.gate->Admit(authorization, Scope::kRead, absl::Now()).status();
}

std::string ServerMetrics::Text(int64_t open_event_streams) {
  Families families(Counted());
  families.Gauge("mercer_build_info", "The version of the server; always 1.", 1,
                 {{"version", kCodeVersion}});
  families.Gauge("process_start_time_seconds", "When the server started, since 1970.",
                 absl::ToDoubleSeconds(started_ - absl::UnixEpoch()));
  families.Gauge("process_resident_memory_bytes", "Memory of the process.", ResidentBytes());
  families.Gauge("mercer_calls_running", "Calls that run now, streams included.",
                 dependencies_.calls->running());
  families.Gauge("mercer_http_event_streams", "Event streams that are open.", open_event_streams);
  if (const auto bytes = dependencies_.storage->datasets().StoredBytes(BlobDigest()); bytes.ok()) {
    families.Gauge("mercer_dataset_bytes", "Bytes of all data sets, equal ones counted once.",
                   *bytes);
  }
  AddJobs(*dependencies_.storage, families);
  AddCache(dependencies_.cache->use(), families);
  AddPredictions(dependencies_.cache->statistics(), families);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families.all());
  return text.str();
}

prometheus::Labels ServerMetrics::LabelsOf(JobKind kind, const std::string& learner) const {
  prometheus::Labels labels = {{"kind", KindLabel(kind)}};
  if (kind == JobKind::kTraining) {
    labels["learner"] = learners_.contains(learner) ? learner : "other";
  }
  return labels;
}

prometheus::Counter& ServerMetrics::FinishedOf(JobKind kind, const std::string& learner,
                                               JobState state) {
  prometheus::Labels labels = LabelsOf(kind, learner);
  labels["state"] = StateLabel(state);
  return finished_.Add(labels);
}

}  // namespace mercer::server
