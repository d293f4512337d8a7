// A server under many watchers, against the same server without them (asked: no event lost or later
// than a second; Train and Predict within 1.5 times of what they take without watchers; memory
// bounded).
//   2000 watchers on 20 running jobs that make 2 events a second each; a tenth of the watchers reads nothing. Of ten
//   watchers nine stream the progress of one job, one watches all jobs.
// Server, watchers and the client that measures are processes of their own. Phases without and with
// watchers take turns, so that both see the same machine. The jobs are trainings by the real
// learner, which rests between its steps and never ends.
//   ./dev bench watchers_bench [watchers] [seconds of a phase]
// Prints one JSON object per line.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/numeric/random.h"
#include "core/learners/registry.h"
#include "mercer/v1/prediction_service.grpc.pb.h"
#include "server/app/server.h"
#include "tests/bench/bench_clouds.h"
#include "tests/bench/helper_process.h"
#include "tests/bench/watcher_fleet.h"

namespace mercer::server {
namespace {

constexpr int kJobs = 20;
constexpr absl::Duration kStepTime = absl::Milliseconds(500);
constexpr int kStreamsPerChannel = 250;
constexpr int kPhases = 6;  // without, with, without, with, ...
constexpr absl::Duration kLongestPause = absl::Milliseconds(20);
constexpr absl::Duration kPatience = absl::Minutes(1);

// ----------------------------------------------------------------------------------------------------------------
// server

// The real learner with a rest before each step, and no end.
class RestingLearner final : public Learner {
 public:
  explicit RestingLearner(std::unique_ptr<Learner> learner) : learner_(std::move(learner)) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* warm_start) override {
    return learner_->Start(problem, warm_start);
  }
  absl::StatusOr<StepReport> Step(RunContext& context, double target) override {
    const absl::Time end = absl::Now() + kStepTime;
    while (absl::Now() < end) {
      if (absl::Status status = context.CheckCancelled(); !status.ok()) {
        return status;
      }
      absl::SleepFor(std::min(absl::Milliseconds(50), end - absl::Now()));
    }
    if (!report_.stop.has_value()) {
      absl::StatusOr<StepReport> report = learner_->Step(context, target);
      if (!report.ok()) {
        return report;
      }
      report_ = *std::move(report);
      report_.accuracy = kInfinity;
    }
    StepReport report = report_;
    report.stop.reset();
    return report;
  }
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    return learner_->CurrentModel(context);
  }
  std::string SaveState() const override { return learner_->SaveState(); }
  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override {
    return learner_->RestoreState(problem, state, context);
  }

 private:
  const std::unique_ptr<Learner> learner_;
  StepReport report_;
};

void Serve(const std::string& folder, int input, int output) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as the program does
  const LearnerEntry* const real = FindLearner("lp_mkl");
  LearnerEntry resting = *real;
  resting.create = [real](const OptionValues& options) -> absl::StatusOr<std::unique_ptr<Learner>> {
    absl::StatusOr<std::unique_ptr<Learner>> learner = real->create(options);
    if (!learner.ok()) {
      return learner;
    }
    return std::make_unique<RestingLearner>(*std::move(learner));
  };
  ServerOptions options;
  options.data_dir = folder;
  options.listen = "127.0.0.1:0";
  options.workers = kJobs;
  options.threads = 1;
  auto server = Server::Start(options, MakeLogger("error"), [&](std::string_view name) {
    return name == "lp_mkl" ? &resting : FindLearner(name);
  });
  Require(server.ok(), std::string(server.status().message()));
  HelperProcess::Write(output, (*server)->address());
  HelperProcess::Read(input);  // the end
  server->reset();
}

// --------------------------------------------------------------------------------------------------------------
// watchers

// Jobs with the numbers of their last events.
using Sequences = std::vector<std::pair<std::string, int64_t>>;

// "JOB SEQUENCE JOB SEQUENCE ...", from words[first] on.
Sequences ReadSequences(const std::vector<std::string>& words, size_t first) {
  Sequences sequences;
  for (size_t i = first; i + 1 < words.size(); i += 2) {
    int64_t sequence = 0;
    Require(absl::SimpleAtoi(words[i + 1], &sequence), words[i + 1]);
    sequences.emplace_back(words[i], sequence);
  }
  return sequences;
}

class Fleet {
 public:
  Fleet(const std::string& address, const Sequences& jobs, int size) {
    for (int i = 0; i < size; ++i) {
      if (i % kStreamsPerChannel == 0) {
        grpc::ChannelArguments arguments;
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        stubs_.push_back(v1::TrainingService::NewStub(
            grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments)));
      }
      const bool stalls = i / 10 % 10 == 0;
      const auto& [job, after] = jobs[static_cast<size_t>(i) % jobs.size()];
      if (i % 10 == 9) {
        auto& watcher = *of_all_.emplace_back(std::make_unique<JobsWatcher>(shared_, stalls));
        stubs_.back()->async()->WatchJobs(&watcher.context(), &watcher.request, &watcher);
        watcher.Begin();
      } else {
        auto& watcher =
            *of_one_.emplace_back(std::make_unique<ProgressWatcher>(shared_, stalls, job, after));
        stubs_.back()->async()->StreamProgress(&watcher.context(), &watcher.request, &watcher);
        watcher.Begin();
      }
    }
    WaitFor([&] { return shared_.started == size; }, "watchers that hear nothing");
    shared_.progress.Begin(absl::Now());
    shared_.states.Begin(absl::Now());
  }
  ~Fleet() {
    const auto size = static_cast<int>(of_one_.size() + of_all_.size());
    for (const auto& watcher : of_one_) {
      watcher->End();
    }
    for (const auto& watcher : of_all_) {
      watcher->End();
    }
    WaitFor([&] { return shared_.ended == size; }, "watchers that do not end");
  }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Lets those that stall catch up; "late" values are of those that do not.
  std::string Report(const Sequences& last) {
    const std::vector<float> progress = shared_.progress.Take();
    const std::vector<float> states = shared_.states.Take();
    const int64_t messages = shared_.messages;
    for (const auto& watcher : of_one_) {
      watcher->Flow();
    }
    for (const auto& watcher : of_all_) {
      watcher->Flow();
    }
    const absl::Time deadline = absl::Now() + kPatience;
    int64_t missing = Missing(last);
    while (missing > 0 && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(20));
      missing = Missing(last);
    }
    return absl::StrCat(
        "\"messages\": ", messages, ", \"events_lost_or_doubled\": ", shared_.gaps.load(),
        ", \"watchers_behind\": ", missing, ", \"streams_broken\": ", shared_.failed.load(),
        ", \"progress_heard\": ", progress.size(),
        ", \"progress_late_p99_ms\": ", Quantile(progress, 0.99),
        ", \"progress_late_max_ms\": ", Quantile(progress, 1),
        ", \"states_heard\": ", states.size(), ", \"states_late_p99_ms\": ", Quantile(states, 0.99),
        ", \"states_late_max_ms\": ", Quantile(states, 1));
  }

 private:
  static void WaitFor(const std::function<bool()>& condition, const char* what) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (!condition()) {
      Require(absl::Now() < deadline, what);
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  // Watchers that have not heard of the last event of their jobs.
  int64_t Missing(const Sequences& last) const {
    int64_t missing = 0;
    for (const auto& [job, sequence] : last) {
      for (const auto& watcher : of_one_) {
        missing += watcher->request.job() == job && watcher->LastOf(job) < sequence ? 1 : 0;
      }
      for (const auto& watcher : of_all_) {
        missing += watcher->LastOf(job) < sequence ? 1 : 0;
      }
    }
    return missing;
  }

  FleetShared shared_;
  std::vector<std::unique_ptr<v1::TrainingService::Stub>> stubs_;
  std::vector<std::unique_ptr<ProgressWatcher>> of_one_;
  std::vector<std::unique_ptr<JobsWatcher>> of_all_;
};

// Lines: "begin ADDRESS SIZE JOB SEQUENCE ...", then "end JOB SEQUENCE ...".
void Watch(int input, int output) {
  // Watchers are elsewhere: here they get what server and client leave of the processors, and are
  // the later for it.
  const sched_param none = {};
  sched_setscheduler(0, SCHED_IDLE, &none);
  std::unique_ptr<Fleet> fleet;
  for (std::string line; !(line = HelperProcess::Read(input)).empty();) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words[0] == "begin") {
      int size = 0;
      Require(absl::SimpleAtoi(words[2], &size), words[2]);
      fleet = std::make_unique<Fleet>(words[1], ReadSequences(words, 3), size);
      HelperProcess::Write(output, "watching");
    } else {
      const std::string report = fleet->Report(ReadSequences(words, 1));
      fleet.reset();
      HelperProcess::Write(output, report);
    }
  }
}

// ----------------------------------------------------------------------------------------------------------------
// client

class Probe {
 public:
  explicit Probe(const std::string& address)
      : channel_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        datasets_(v1::DatasetService::NewStub(channel_)),
        training_(v1::TrainingService::NewStub(channel_)),
        prediction_(v1::PredictionService::NewStub(channel_)) {}

  void Upload(const std::string& id, int rows) {
    Check(UploadClouds(*datasets_, id, rows), "upload");
  }

  // Of the learner that rests.
  std::string BeginJob() { return Train(RestingRequest()); }
  void WaitUntilRunning(const std::string& job) {
    while (Get(job).state() == v1::JOB_STATE_QUEUED) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    Require(Get(job).state() == v1::JOB_STATE_RUNNING, job + " does not run");
  }
  // " JOB SEQUENCE JOB SEQUENCE ..."
  std::string WriteSequences(const std::vector<std::string>& jobs) {
    std::string text;
    for (const std::string& job : jobs) {
      absl::StrAppend(&text, " ", job, " ", Get(job).last_sequence());
    }
    return text;
  }

  void TrainModel() {
    v1::TrainRequest request;
    request.add_data()->set_dataset("datasets/clouds");
    request.mutable_learner()->mutable_kernel_ridge();
    request.set_model("models/clouds");
    const std::string job = Train(request);
    v1::Job ended;
    while ((ended = Get(job)).state() < v1::JOB_STATE_SUCCEEDED) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    Require(ended.state() == v1::JOB_STATE_SUCCEEDED, ended.ShortDebugString());
  }

  // For so long: a Train, whose job waits behind the running ones and is cancelled, and ten
  // predictions, again and again, each at a moment of its own: the news of the Train go to all
  // watchers.
  void Measure(absl::Duration time, std::vector<double>& trains, std::vector<double>& predictions) {
    v1::PredictRequest request;
    request.set_model("models/clouds");
    v1::Matrix& row = *request.mutable_rows()->add_dense()->mutable_values();
    row.set_rows(1);
    row.set_columns(kColumns);
    row.mutable_values()->Resize(kColumns, 0.5);
    const absl::Time end = absl::Now() + time;
    while (absl::Now() < end) {
      std::string job;
      Pause();
      trains.push_back(Milliseconds([&] { job = Train(RestingRequest()); }));
      for (int i = 0; i < 10; ++i) {
        Pause();
        predictions.push_back(Milliseconds([&] {
          grpc::ClientContext context;
          v1::PredictResponse response;
          Check(prediction_->Predict(&context, request, &response), "predict");
        }));
      }
      Cancel(job);
    }
  }

 private:
  static void Check(const grpc::Status& status, const char* what) {
    Require(status.ok(), absl::StrCat(what, ": ", status.error_message()));
  }
  void Pause() { absl::SleepFor(random_.Uniform() * kLongestPause); }
  static double Milliseconds(const std::function<void()>& call) {
    const absl::Time start = absl::Now();
    call();
    return absl::ToDoubleMilliseconds(absl::Now() - start);
  }
  static v1::TrainRequest RestingRequest() {
    v1::TrainRequest request;
    request.add_data()->set_dataset("datasets/clouds");
    v1::KernelGrid& grid = *request.mutable_learner()->mutable_lp_mkl()->add_kernels();
    grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
    grid.add_bandwidths(4);
    return request;
  }
  std::string Train(const v1::TrainRequest& request) {
    grpc::ClientContext context;
    v1::Job job;
    Check(training_->Train(&context, request, &job), "train");
    return job.name();
  }
  void Cancel(const std::string& name) {
    grpc::ClientContext context;
    v1::CancelJobRequest request;
    request.set_name(name);
    v1::Job job;
    Check(training_->CancelJob(&context, request, &job), "cancel");
  }
  v1::Job Get(const std::string& name) {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_name(name);
    v1::Job job;
    Check(training_->GetJob(&context, request, &job), "job");
    return job;
  }

  RandomStream random_{1, "pauses"};
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::DatasetService::Stub> datasets_;
  std::unique_ptr<v1::TrainingService::Stub> training_;
  std::unique_ptr<v1::PredictionService::Stub> prediction_;
};

struct Latencies {
  std::vector<double> trains;
  std::vector<double> predictions;
};

void PrintRatio(const char* call, const std::vector<double>& without,
                const std::vector<double>& with) {
  std::printf("{\"bench\": \"watchers\", \"call\": \"%s\", \"calls\": [%zu, %zu]", call,
              without.size(), with.size());
  for (const double share : {0.5, 0.99}) {
    const double before = Quantile(without, share);
    const double after = Quantile(with, share);
    std::printf(", \"p%.0f_ms\": [%.2f, %.2f], \"p%.0f_ratio\": %.2f", 100 * share, before, after,
                100 * share, after / before);
  }
  std::printf("}\n");
}

int Run(int size, absl::Duration phase) {
  const std::string folder =
      std::filesystem::temp_directory_path() / absl::StrCat("mercer_watchers_bench_", getpid());
  {
    // Before anything of gRPC: it does not survive a fork.
    HelperProcess server([&](int input, int output) { Serve(folder, input, output); });
    HelperProcess watchers([](int input, int output) { Watch(input, output); });
    const std::string address = server.Read();
    Require(!address.empty(), "there is no server");
    Probe probe(address);
    probe.Upload("clouds", 150);
    probe.TrainModel();
    std::vector<std::string> jobs;
    for (int i = 0; i < kJobs; ++i) {
      jobs.push_back(probe.BeginJob());
    }
    for (const std::string& job : jobs) {
      probe.WaitUntilRunning(job);
    }
    std::array<Latencies, 2> latencies;  // without, with
    probe.Measure(absl::Seconds(2), latencies[0].trains, latencies[0].predictions);
    latencies[0] = {};
    for (int i = 0; i < kPhases; ++i) {
      const bool watched = i % 2 == 1;
      const double begin = server.AnonymousMegabytes();
      if (watched) {
        watchers.Ask(absl::StrCat("begin ", address, " ", size, probe.WriteSequences(jobs)));
      }
      const double work = server.ProcessorSeconds();
      const double fleet_work = watchers.ProcessorSeconds();
      Latencies& those = latencies[watched ? 1 : 0];
      probe.Measure(phase, those.trains, those.predictions);
      const double share = (server.ProcessorSeconds() - work) / absl::ToDoubleSeconds(phase);
      const double fleet_share =
          (watchers.ProcessorSeconds() - fleet_work) / absl::ToDoubleSeconds(phase);
      const double end = server.AnonymousMegabytes();
      std::string report;
      if (watched) {
        report = absl::StrCat(", ", watchers.Ask(absl::StrCat("end", probe.WriteSequences(jobs))));
      }
      std::array<double, 3> load = {};
      getloadavg(load.data(), 3);
      std::printf(
          "{\"bench\": \"watchers\", \"watchers\": %d, \"seconds\": %.0f, \"load_average\": %.1f, "
          "\"server_processors\": %.2f, \"watchers_processors\": %.2f, \"server_mb\": [%.1f, "
          "%.1f]%s}\n",
          watched ? size : 0, absl::ToDoubleSeconds(phase), load[0], share, fleet_share, begin, end,
          report.c_str());
      std::fflush(stdout);
    }
    PrintRatio("Train", latencies[0].trains, latencies[1].trains);
    PrintRatio("Predict", latencies[0].predictions, latencies[1].predictions);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace mercer::server

int main(int argc, char** argv) {
  int size = 2000;
  double seconds = 10;
  const bool good = (argc < 2 || absl::SimpleAtoi(argv[1], &size)) &&
                    (argc < 3 || absl::SimpleAtod(argv[2], &seconds)) && size > 0 && seconds > 0;
  if (!good) {
    std::fprintf(stderr, "usage: watchers_bench [watchers] [seconds of a phase]\n");
    return 1;
  }
  return mercer::server::Run(size, absl::Seconds(seconds));
}
