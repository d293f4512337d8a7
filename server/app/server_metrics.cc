#include "server/app/server_metrics.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <unistd.h>
#include <utility>

#include "absl/time/clock.h"
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "server/app/server_options.h"
#include "server/translation/job_translator.h"

namespace mercer::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using MetricLabels = std::vector<ClientMetric::Label>;

// Jobs that have not ended are looked at one by one, up to so many.
constexpr size_t kMaxJobs = 10'000;
// Seconds, from a quick look-up to a prediction of many rows.
const prometheus::Histogram::BucketBoundaries kBuckets = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600};

MetricFamily Family(const char* name, const char* help, MetricType type) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

void AddGauge(MetricFamily& family, double value, MetricLabels labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  family.metric.push_back(std::move(metric));
}

void AddCounter(MetricFamily& family, int64_t value, MetricLabels labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = static_cast<double>(value);
  family.metric.push_back(std::move(metric));
}

MetricFamily OneGauge(const char* name, const char* help, double value, MetricLabels labels = {}) {
  MetricFamily family = Family(name, help, MetricType::Gauge);
  AddGauge(family, value, std::move(labels));
  return family;
}

double ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

MetricFamily OneCounter(const char* name, const char* help, int64_t value) {
  MetricFamily family = Family(name, help, MetricType::Counter);
  AddCounter(family, value);
  return family;
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

void AddJobs(Storage& storage, std::vector<MetricFamily>& families) {
  MetricFamily by_state = Family("mercer_jobs", "Jobs that are kept, by state.", MetricType::Gauge);
  if (const auto counts = storage.jobs().CountJobs(); counts.ok()) {
    for (const auto& [state, count] : *counts) {
      AddGauge(by_state, static_cast<double>(count), {{"state", StateLabel(state)}});
    }
  }
  MetricFamily unfinished =
      Family("mercer_unfinished_jobs", "Jobs that have not ended, by state and learner.",
             MetricType::Gauge);
  MetricFamily gaps = Family("mercer_job_relative_gap",
                             "Last known relative gap of each running job.", MetricType::Gauge);
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  absl::Duration longest_wait;
  for (const JobRecord& job : UnfinishedJobs(storage)) {
    ++counts[{StateLabel(job.state), job.learner}];
    if (job.state == JobState::kQueued) {
      longest_wait = std::max(longest_wait, absl::Now() - job.create_time);
    }
    const auto written = WriteJob(job, {});
    if (written.ok() && written->progress().progress().has_relative_gap()) {
      AddGauge(gaps, written->progress().progress().relative_gap(),
               {{"job", written->name()}, {"learner", job.learner}});
    }
  }
  for (const auto& [key, count] : counts) {
    AddGauge(unfinished, static_cast<double>(count),
             {{"state", key.first}, {"learner", key.second}});
  }
  families.push_back(std::move(by_state));
  families.push_back(std::move(unfinished));
  families.push_back(std::move(gaps));
  families.push_back(OneGauge("mercer_queue_longest_wait_seconds", "Age of the oldest queued job.",
                              absl::ToDoubleSeconds(longest_wait)));
}

void AddCache(const ModelCacheUse& use, std::vector<MetricFamily>& families) {
  families.push_back(OneGauge("mercer_model_cache_models", "Versions of models in memory.",
                              static_cast<double>(use.models)));
  families.push_back(OneGauge("mercer_model_cache_bytes", "Memory that they take.",
                              static_cast<double>(use.bytes)));
  families.push_back(OneCounter("mercer_model_cache_hits_total",
                                "Times that a version was needed and in memory.", use.hits));
  families.push_back(OneCounter("mercer_model_cache_misses_total",
                                "Times that a version was needed and had to be read.", use.misses));
}

void AddPredictions(const PredictionStatisticsTable& table, std::vector<MetricFamily>& families) {
  MetricFamily calls =
      Family("mercer_predictions_total", "Predictions of each model's version, by result.",
             MetricType::Counter);
  MetricFamily rows = Family("mercer_predicted_rows_total",
                             "Rows predicted by each model's version.", MetricType::Counter);
  MetricFamily latency =
      Family("mercer_prediction_seconds", "Latency of each model's version.", MetricType::Summary);
  for (const auto& model : table.All()) {
    AddCounter(calls, model->succeeded(), {{"model", model->model()}, {"result", "ok"}});
    AddCounter(calls, model->failed(), {{"model", model->model()}, {"result", "error"}});
    AddCounter(rows, model->rows(), {{"model", model->model()}});
    ClientMetric metric;
    metric.label = {{"model", model->model()}};
    metric.summary.sample_count = static_cast<uint64_t>(model->latency().count());
    metric.summary.sample_sum = absl::ToDoubleSeconds(model->latency().sum());
    for (const double share : {0.5, 0.9, 0.99}) {
      metric.summary.quantile.push_back(
          {share, absl::ToDoubleSeconds(model->latency().Quantile(share))});
    }
    latency.metric.push_back(std::move(metric));
  }
  families.push_back(std::move(calls));
  families.push_back(std::move(rows));
  families.push_back(std::move(latency));
}

}  // namespace

struct ServerMetrics::Counters {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& calls =
      prometheus::BuildCounter()
          .Name("mercer_calls_total")
          .Help("Calls that have ended, over gRPC and HTTP, by method and code.")
          .Register(registry);
  prometheus::Family<prometheus::Histogram>& seconds =
      prometheus::BuildHistogram()
          .Name("mercer_call_seconds")
          .Help("How long calls took, by method; streams to their end.")
          .Register(registry);
};

ServerMetrics::ServerMetrics(MetricsDependencies dependencies)
    : dependencies_(std::move(dependencies)),
      started_(absl::Now()),
      counters_(std::make_unique<Counters>()) {}

ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::OnCall(const char* method, absl::StatusCode code, absl::Duration duration) {
  counters_->calls.Add({{"method", method}, {"code", absl::StatusCodeToString(code)}}).Increment();
  counters_->seconds.Add({{"method", method}}, kBuckets).Observe(absl::ToDoubleSeconds(duration));
}

absl::Status ServerMetrics::Admit(const std::vector<std::string_view>& authorization) const {
  return dependencies_.open
             ? absl::OkStatus()
             : dependencies_.gate->Admit(authorization, Scope::kRead, absl::Now()).status();
}

std::string ServerMetrics::Text(const gateway::HttpCounts& counts) {
  std::vector<MetricFamily> families = counters_->registry.Collect();
  families.push_back(OneGauge("mercer_build_info", "The version of the server; always 1.", 1,
                              {{"version", kCodeVersion}}));
  families.push_back(OneGauge("process_start_time_seconds", "When the server started, since 1970.",
                              absl::ToDoubleSeconds(started_ - absl::UnixEpoch())));
  families.push_back(
      OneGauge("process_resident_memory_bytes", "Memory of the process.", ResidentBytes()));
  families.push_back(OneGauge("mercer_calls_running", "Calls that run now, streams included.",
                              static_cast<double>(dependencies_.calls->running())));
  families.push_back(OneGauge("mercer_http_event_streams", "Event streams that are open.",
                              static_cast<double>(counts.event_streams)));
  if (const auto bytes = dependencies_.storage->datasets().StoredBytes(BlobDigest()); bytes.ok()) {
    families.push_back(OneGauge("mercer_dataset_bytes",
                                "Bytes of all data sets, equal ones counted once.",
                                static_cast<double>(*bytes)));
  }
  AddJobs(*dependencies_.storage, families);
  std::vector<MetricFamily> of_jobs = dependencies_.jobs->Collect();
  std::move(of_jobs.begin(), of_jobs.end(), std::back_inserter(families));
  AddCache(dependencies_.cache->use(), families);
  AddPredictions(dependencies_.cache->statistics(), families);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

}  // namespace mercer::server
