// A server with 100,000 jobs and 1,000,000 events (targets: ListJobs and GetJob within 10 ms at the 99th percentile,
// start-up within 2 s). The jobs are copies of one that the server has really run.
// Prints one JSON object per line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <grpcpp/grpcpp.h>

#include "core/base/numeric/random.h"
#include "mercer/v1/dataset_service.grpc.pb.h"
#include "mercer/v1/training_service.grpc.pb.h"
#include "server/app/server.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/row_checksums.h"
#include "server/storage/sqlite/sqlite_storage.h"

namespace mercer::server {
namespace {

constexpr int kJobs = 100'000;
constexpr int kEventsPerJob = 10;
constexpr int kCalls = 500;

void Require(bool condition, const std::string& what) {
  if (!condition) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
  }
}

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<size_t>(share * static_cast<double>(values.size())))];
}

double Milliseconds(const std::function<void()>& call) {
  const absl::Time start = absl::Now();
  call();
  return absl::ToDoubleMilliseconds(absl::Now() - start);
}

// With the processor's time of a call, of client and server together: what does not depend on who else uses the machine.
void Measure(const char* name, int calls, const std::function<void(int)>& call) {
  std::vector<double> times;
  const std::clock_t begin = std::clock();
  for (int i = 0; i < calls; ++i) {
    times.push_back(Milliseconds([&] { call(i); }));
  }
  const double cpu = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / calls;
  std::printf(
      "{\"bench\": \"%s\", \"calls\": %d, \"p50_ms\": %.2f, \"p99_ms\": %.2f, \"max_ms\": "
      "%.2f, \"cpu_ms\": %.2f}\n",
      name, calls, Quantile(times, 0.5), Quantile(times, 0.99), Quantile(times, 1), cpu);
  std::fflush(stdout);
}

// Numbers 2 .. kJobs become copies of job 1. Of a hundred, four have failed, two were cancelled, one waits for its next
// attempt; the rest has a model. One of a hundred has the label owner=ann, five old ones a label of their own.
std::string FillScript() {
  const std::string series = absl::StrCat(
      "WITH RECURSIVE series(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM series WHERE n < ", kJobs,
      ") ");
  std::string script = "BEGIN;";
  absl::StrAppend(
      &script, series,
      "INSERT INTO jobs(number, id, state, priority, attempt, epoch, not_before, request_digest, "
      "learner, "
      "model_name, model_version, memory_bytes, error_code, error_message, create_time, "
      "start_time, "
      "end_time, last_sequence, last_attempt, last_iteration, last_time, last_payload) SELECT n, "
      "printf('copy%012d', n), CASE n % 100 WHEN 1 THEN 1 WHEN 2 THEN 6 WHEN 3 THEN 6 WHEN 4 THEN "
      "6 WHEN 5 "
      "THEN 6 WHEN 6 THEN 7 WHEN 7 THEN 7 ELSE 5 END, 0, 1, 1, CASE n % 100 WHEN 1 THEN "
      "(strftime('%s', 'now') + 240) * 1000000 "
      "ELSE 0 END, request_digest, learner, model_name, CASE WHEN n % 100 BETWEEN 1 AND 7 THEN 0 "
      "ELSE 1 "
      "END, memory_bytes, CASE WHEN n % 100 BETWEEN 2 AND 5 THEN 3 END, 'no', create_time + n, "
      "start_time, "
      "CASE n % 100 WHEN 1 THEN NULL ELSE end_time END, ",
      kEventsPerJob,
      ", 1, last_iteration, last_time, last_payload FROM series, jobs WHERE number = 1;");
  absl::StrAppend(&script, series,
                  "INSERT INTO job_requests(job, request) SELECT n, request FROM series, "
                  "job_requests WHERE job = 1;");
  absl::StrAppend(&script, series,
                  "INSERT INTO job_datasets(job, position, dataset_id) SELECT n, 0, dataset_id "
                  "FROM series, job_datasets WHERE job = 1;");
  absl::StrAppend(&script, series,
                  "INSERT INTO attempts(job, attempt, host, worker, start_time, end_time, reason) "
                  "SELECT n, 1, host, worker, start_time, end_time, reason FROM series, "
                  "attempts WHERE job = 1;");
  absl::StrAppend(
      &script, series,
      "INSERT INTO job_labels(owner, key, value) SELECT n, 'team', 'blue' FROM series;");
  absl::StrAppend(&script, series,
                  "INSERT INTO job_labels(owner, key, value) SELECT n, 'owner', 'ann' FROM series "
                  "WHERE n % 100 = 50;");
  absl::StrAppend(&script, series,
                  "INSERT INTO job_labels(owner, key, value) SELECT n, 'rare', 'yes' FROM series "
                  "WHERE n BETWEEN 10 AND 14;");
  absl::StrAppend(&script, series,
                  ", numbers(s) AS (SELECT 1 UNION ALL SELECT s + 1 FROM numbers WHERE s < ",
                  kEventsPerJob,
                  ") INSERT INTO events(job, sequence, attempt, iteration, time, payload) SELECT "
                  "n, s, 1, s, last_time, CASE s WHEN ",
                  kEventsPerJob,
                  " THEN last_payload ELSE (SELECT payload FROM events WHERE job = 1 ORDER BY "
                  "LENGTH(payload) DESC LIMIT 1) END FROM series, numbers, jobs WHERE "
                  "jobs.number = 1;");
  return script + "COMMIT;";
}

class Bench {
 public:
  Bench() {
    options_.data_dir =
        std::filesystem::temp_directory_path() / absl::StrCat("mercer_registry_bench_", getpid());
    options_.listen = "127.0.0.1:0";
    options_.workers = 1;
  }
  ~Bench() {
    server_.reset();
    std::filesystem::remove_all(options_.data_dir);
  }

  void Run() {
    Start();
    TrainTemplate();
    Stop();
    Fill();
    Measure("start", 5, [this](int) { Start(); });
    MeasureReads();
    MeasureWrites();
  }

 private:
  void Start() {
    server_.reset();
    auto server = Server::Start(options_, MakeLogger("off"));
    Require(server.ok(), std::string(server.status().message()));
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    training_ = v1::TrainingService::NewStub(channel_);
  }
  void Stop() {
    server_->Drain();
    server_.reset();
  }

  void TrainTemplate() {
    const auto datasets = v1::DatasetService::NewStub(channel_);
    std::string csv = "a,b,label\n";
    RandomStream random(1, "clouds");
    for (int row = 0; row < 60; ++row) {
      absl::StrAppend(&csv, random.Normal() + row % 2, ",", random.Normal(), ",", row % 2, "\n");
    }
    grpc::ClientContext context;
    v1::Dataset dataset;
    auto writer = datasets->UploadDataset(&context, &dataset);
    v1::UploadDatasetRequest message;
    message.mutable_header()->set_dataset_id("clouds");
    (*message.mutable_header()->add_parts()->mutable_csv()->mutable_roles())["label"] =
        v1::COLUMN_ROLE_TARGET;
    writer->Write(message);
    message.mutable_chunk()->set_data(csv);
    writer->Write(message);
    writer->WritesDone();
    Require(writer->Finish().ok(), "upload");
    request_.add_data()->set_dataset(dataset.name());
    v1::KernelGrid& grid = *request_.mutable_learner()->mutable_svm()->add_kernels();
    grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
    grid.add_bandwidths(1.0);
    const v1::Job job = Train();
    grpc::ClientContext stream_context;
    v1::StreamProgressRequest watch;
    watch.set_job(job.name());
    auto reader = training_->StreamProgress(&stream_context, watch);
    v1::StreamProgressResponse response;
    while (reader->Read(&response)) {
    }
    Require(reader->Finish().ok(), "watch");
  }

  v1::Job Train() {
    grpc::ClientContext context;
    v1::Job job;
    const grpc::Status status = training_->Train(&context, request_, &job);
    Require(status.ok(), status.error_message());
    return job;
  }

  void Fill() {
    auto connection =
        Connection::Open(options_.data_dir + "/mercer.db", Connection::Mode::kReadWrite);
    Require(connection.ok(), "open");
    const absl::Status filled = (*connection)->Execute(FillScript());
    Require(filled.ok(), filled.ToString());
    Require(RefreshChecksums(**connection).ok(), "checksums");
    Require((*connection)->Execute("PRAGMA wal_checkpoint(TRUNCATE)").ok(), "checkpoint");
    std::printf(
        "{\"bench\": \"fill\", \"jobs\": %d, \"events\": %d, \"megabytes\": %.0f}\n", kJobs,
        kJobs * kEventsPerJob,
        static_cast<double>(std::filesystem::file_size(options_.data_dir + "/mercer.db")) / 1e6);
  }

  v1::ListJobsResponse List(const v1::ListJobsRequest& request) {
    grpc::ClientContext context;
    v1::ListJobsResponse response;
    const grpc::Status status = training_->ListJobs(&context, request, &response);
    Require(status.ok(), status.error_message());
    return response;
  }

  void MeasureReads() {
    RandomStream random(1, "jobs");
    Measure("GetJob", kCalls, [&](int) {
      grpc::ClientContext context;
      v1::GetJobRequest request;
      char id[32];
      std::snprintf(id, sizeof(id), "jobs/copy%012d",
                    2 + static_cast<int>(random.Uniform() * (kJobs - 2)));
      request.set_name(id);
      v1::Job job;
      Require(training_->GetJob(&context, request, &job).ok(), "GetJob");
    });
    const auto measure_list = [this](const char* name, const v1::ListJobsRequest& request,
                                     int expected) {
      Measure(name, kCalls, [&](int) { Require(List(request).jobs_size() == expected, name); });
    };
    v1::ListJobsRequest request;
    measure_list("ListJobs first page", request, 50);
    v1::ListJobsRequest deep;
    deep.set_page_size(1000);
    for (int page = 0; page < 90; ++page) {
      deep.set_page_token(List(deep).next_page_token());
    }
    measure_list("ListJobs a thousand, deep", deep, 1000);
    for (const auto& [name, state] : std::vector<std::pair<const char*, v1::JobState>>{
             {"ListJobs succeeded", v1::JOB_STATE_SUCCEEDED},
             {"ListJobs failed", v1::JOB_STATE_FAILED},
             {"ListJobs queued", v1::JOB_STATE_QUEUED}}) {
      request.Clear();
      request.add_states(state);
      measure_list(name, request, 50);
    }
    request.Clear();
    request.add_states(v1::JOB_STATE_RUNNING);
    measure_list("ListJobs running (none)", request, 0);
    request.Clear();
    (*request.mutable_labels())["team"] = "blue";
    measure_list("ListJobs label of all", request, 50);
    request.add_states(v1::JOB_STATE_CANCELLED);
    measure_list("ListJobs label of all, cancelled", request, 50);
    request.Clear();
    (*request.mutable_labels())["owner"] = "ann";
    measure_list("ListJobs label of 1 %", request, 50);
    request.Clear();
    (*request.mutable_labels())["rare"] = "yes";
    measure_list("ListJobs label of five old jobs", request, 5);
    request.add_states(v1::JOB_STATE_SUCCEEDED);
    measure_list("ListJobs label of five old jobs, succeeded", request, 5);
    request.Clear();
    (*request.mutable_labels())["rare"] = "no";
    measure_list("ListJobs label of none", request, 0);
  }

  // Each call trains and waits, so that a claim, the events and the end are in it.
  void MeasureWrites() {
    Measure("Train", 50, [this](int) { Train(); });
    const v1::Job last = Train();
    grpc::ClientContext context;
    v1::StreamProgressRequest watch;
    watch.set_job(last.name());
    Measure("51 jobs through the queue", 1, [&](int) {
      auto reader = training_->StreamProgress(&context, watch);
      v1::StreamProgressResponse response;
      while (reader->Read(&response)) {
      }
      Require(reader->Finish().ok(), "watch");
    });
  }

  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::TrainingService::Stub> training_;
  v1::TrainRequest request_;
};

}  // namespace
}  // namespace mercer::server

int main() {
  mercer::server::Bench().Run();
  return 0;
}
