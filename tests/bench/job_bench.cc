// What the service adds to a small job beside its solving.
//
//   job_bench [jobs] [rows] [columns]
//
// Jobs (100), one after the other, on two classes of rows (4000) x columns (57) of one data set: infinite_features on the columns with
// square loss, at a lambda at which all weights are 0 ("empty") and at a tenth of it ("small"). For each it prints quantiles of
// milliseconds: until Train answers; by the job's events from its start to its verification, and from there to its end; from the request
// until a watcher hears of the end. Beside them, interleaved, the same recipe by the core alone, until it verifies, and in all; and how
// often the process has waited for the disk, per job.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include <grpcpp/grpcpp.h>

#include "core/io/text/readers.h"
#include "core/learners/registry.h"
#include "core/training/recipe/recipe.h"
#include "mercer/v1/dataset_service.grpc.pb.h"
#include "mercer/v1/training_service.grpc.pb.h"
#include "server/app/server.h"
#include "tests/bench/bench_clouds.h"

namespace {

std::atomic<int64_t> num_syncs{0};

}  // namespace

// In the place of those of the C library, for SQLite as well.
extern "C" int fsync(int file) {
  ++num_syncs;
  return static_cast<int>(syscall(SYS_fsync, file));
}
extern "C" int fdatasync(int file) {
  ++num_syncs;
  return static_cast<int>(syscall(SYS_fdatasync, file));
}

namespace mercer::server {
namespace {

constexpr char kData[] = "clouds";
constexpr double kGap = 1e-6;

void Require(bool ok, const std::string& what) {
  if (!ok) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
  }
}

class Times {
 public:
  explicit Times(const char* name) : name_(name) {}
  void Add(double milliseconds) { values_.push_back(milliseconds); }
  void Clear() { values_.clear(); }
  std::string Text() const {
    return absl::StrFormat("\"%s_ms\": {\"p10\": %.2f, \"p50\": %.2f, \"p90\": %.2f}", name_,
                           Quantile(values_, 0.1), Quantile(values_, 0.5), Quantile(values_, 0.9));
  }

 private:
  const char* name_;
  std::vector<double> values_;
};

class VerifyingTime final : public RunObserver {
 public:
  void OnProgress(const ProgressEvent& /*event*/) override {}
  void OnVerifying() override { time_ = absl::Now(); }
  absl::Time time() const { return time_; }

 private:
  absl::Time time_;
};

class JobBench {
 public:
  JobBench(const std::string& address, std::string csv, int64_t columns)
      : channel_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        training_(v1::TrainingService::NewStub(channel_)),
        columns_(columns) {
    const grpc::Status uploaded = UploadCsv(*v1::DatasetService::NewStub(channel_), kData, csv);
    Require(uploaded.ok(), uploaded.error_message());
    CsvOptions options;
    options.roles = {{"y", ColumnRole::kTarget}};
    const auto source = MakeMemorySource(std::move(csv));
    absl::StatusOr<Dataset> read = ReadCsv(*source, options);
    Require(read.ok(), std::string(read.status().message()));
    dataset_ = *std::move(read);
  }

  void Measure(const char* name, double lambda, int jobs) {
    const int64_t syncs_before = num_syncs;
    for (int i = 0; i < jobs + 3; ++i) {
      const bool counts = i >= 3;  // the first ones find nothing in caches
      RunInCore(lambda, counts);
      RunOnServer(lambda, counts);
    }
    std::printf("{\"bench\": \"small job\", \"job\": \"%s\", \"jobs\": %d, \"syncs_per_job\": %.1f",
                name, jobs, static_cast<double>(num_syncs - syncs_before) / (jobs + 3));
    for (Times* times : {&answer_, &training_time_, &end_, &all_, &core_training_, &core_all_}) {
      std::printf(", %s", times->Text().c_str());
      times->Clear();
    }
    std::printf("}\n");
  }

 private:
  void RunInCore(double lambda, bool counts) {
    TrainingRecipe recipe;
    recipe.learner = "infinite_features";
    recipe.options = {{"family", "columns"},
                      {"loss", "square"},
                      {"normalization", "none"},
                      {"lambda", lambda},
                      {"lambda_unit", "share_of_maximum"},
                      {"max_groups", columns_},
                      {"groups_per_round", columns_},
                      {"violation", 0.0}};
    recipe.limits.relative_gap = kGap;
    const RecipeRun run{FindLearner(recipe.learner), &recipe, &dataset_, "", ""};
    RunContext context;
    VerifyingTime verifying;
    const absl::Time begin = absl::Now();
    const auto trained = RunRecipe(run, "", context, verifying);
    const absl::Time end = absl::Now();
    Require(trained.ok(), std::string(trained.status().message()));
    if (counts) {
      core_training_.Add(absl::ToDoubleMilliseconds(verifying.time() - begin));
      core_all_.Add(absl::ToDoubleMilliseconds(end - begin));
    }
  }

  void RunOnServer(double lambda, bool counts) {
    v1::TrainRequest request;
    request.add_data()->set_dataset(absl::StrCat("datasets/", kData));
    request.mutable_stopping()->set_relative_gap(kGap);
    v1::InfiniteFeatures& learner = *request.mutable_learner()->mutable_infinite_features();
    learner.set_family(v1::InfiniteFeatures::FAMILY_COLUMNS);
    learner.set_loss(v1::InfiniteFeatures::LOSS_SQUARE);
    learner.set_normalization(v1::InfiniteFeatures::NORMALIZATION_NONE);
    learner.set_lambda(lambda);
    learner.set_lambda_unit(v1::InfiniteFeatures::LAMBDA_UNIT_SHARE_OF_MAXIMUM);
    learner.set_max_groups(columns_);
    learner.set_groups_per_round(columns_);
    learner.set_violation(0);
    const absl::Time begin = absl::Now();
    grpc::ClientContext train;
    v1::Job job;
    const grpc::Status accepted = training_->Train(&train, request, &job);
    Require(accepted.ok(), accepted.error_message());
    const absl::Time answered = absl::Now();
    grpc::ClientContext watch;
    v1::StreamProgressRequest progress;
    progress.set_job(job.name());
    const auto reader = training_->StreamProgress(&watch, progress);
    v1::StreamProgressResponse response;
    std::optional<absl::Time> running;
    std::optional<absl::Time> verifying;
    absl::Time ended;
    while (reader->Read(&response)) {
      const v1::ProgressEvent& event = response.event();
      const absl::Time time =
          absl::FromUnixSeconds(event.time().seconds()) + absl::Nanoseconds(event.time().nanos());
      if (event.state_change().state() == v1::JOB_STATE_RUNNING) {
        running = time;
      } else if (event.state_change().state() == v1::JOB_STATE_VERIFYING) {
        verifying = time;
      }
      ended = time;
    }
    const absl::Time heard = absl::Now();
    Require(reader->Finish().ok() && running.has_value() && verifying.has_value(),
            "a job did not end well");
    if (counts) {
      answer_.Add(absl::ToDoubleMilliseconds(answered - begin));
      training_time_.Add(absl::ToDoubleMilliseconds(*verifying - *running));
      end_.Add(absl::ToDoubleMilliseconds(ended - *verifying));
      all_.Add(absl::ToDoubleMilliseconds(heard - begin));
    }
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::TrainingService::Stub> training_;
  const int64_t columns_;
  Dataset dataset_;
  Times answer_{"answer"};
  Times training_time_{"training"};
  Times end_{"verifying_and_storing"};
  Times all_{"request_to_model"};
  Times core_training_{"core_training"};
  Times core_all_{"core_all"};
};

int Run(int jobs, int rows, int columns) {
  ServerOptions options;
  options.data_dir =
      std::filesystem::temp_directory_path() / absl::StrCat("mercer_job_bench_", getpid());
  options.listen = "127.0.0.1:0";
  options.workers = 1;
  auto server = Server::Start(options, MakeLogger("off"));
  Require(server.ok(), std::string(server.status().message()));
  std::printf("%d jobs, %d x %d\n", jobs, rows, columns);
  {
    JobBench bench((*server)->address(), CloudsAsCsv(kData, rows, columns), columns);
    bench.Measure("empty", 2.0, jobs);
    bench.Measure("small", 0.1, jobs);
  }
  server->reset();
  std::filesystem::remove_all(options.data_dir);
  return 0;
}

}  // namespace
}  // namespace mercer::server

int main(int count, char** arguments) {
  const auto argument = [&](int place, int otherwise) {
    return count > place ? std::atoi(arguments[place]) : otherwise;
  };
  return mercer::server::Run(argument(1, 100), argument(2, 4000), argument(3, 57));
}
