#include "tests/fault/campaign.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "tests/fault/connection.h"
#include "tests/fault/crash_workload.h"
#include "tests/fault/fault_fixture.h"

namespace mercer::server {
namespace {

constexpr int kClients = 3;
constexpr int kWatchers = 2;

// What becomes of a model and a data set, by jobs that nothing interrupts.
void AddWorks(Connection& connection, const std::string& model, const std::string& dataset,
              const std::string& key, Reference& reference) {
  v1::PredictDatasetRequest predict;
  predict.set_model(model);
  predict.set_dataset(dataset);
  v1::EvaluateModelRequest evaluate;
  evaluate.set_name(model);
  evaluate.set_dataset(dataset);
  const auto prediction = connection.client.StartPrediction(predict);
  const auto evaluation = connection.client.StartEvaluation(evaluate);
  for (const auto& job : {prediction, evaluation}) {
    ASSERT_TRUE(job.ok()) << job.status();
    const absl::Status watched = connection.client.WatchJob(job->name(), {});
    ASSERT_TRUE(watched.ok()) << watched;
  }
  const auto predicted = connection.client.GetJob(prediction->name());
  const auto evaluated = connection.client.GetJob(evaluation->name());
  ASSERT_TRUE(predicted.ok() && evaluated.ok());
  const auto made =
      connection.client.GetDataset(predicted->prediction().dataset(), v1::DATASET_VIEW_BASIC);
  ASSERT_TRUE(made.ok()) << made.status();
  reference.predicted_digests[key] = made->digest();
  reference.evaluations[key] = MetricsOf(evaluated->evaluation());
}

}  // namespace

ServerProcessOptions BusyOptions(ServerProcessOptions options) {
  options.flags = {"--workers=2", "--threads=1", "--checkpoint-interval=0",
                   "--max-lost-attempts=1000000"};
  return options;
}

Reference MakeReference(const ServerProcessOptions& options) {
  Reference reference;
  reference.contents = MakeContents();
  ServerProcess server(options);
  EXPECT_TRUE(server.WaitUntilListening()) << server.Log();
  Connection connection(server.address());
  for (size_t content = 0; content < kContents; ++content) {
    v1::UploadHeader header = MakeUploadHeader();
    header.set_dataset_id(absl::StrCat("content-", content));
    const auto dataset = connection.client.UploadDataset(
        header, {client::MemorySource(reference.contents[content])});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    reference.dataset_digests.push_back(dataset->digest());
  }
  for (int content = 0; content < kTransferContents; ++content) {
    std::vector<client::UploadSource> parts;
    for (std::string& part : MakeTransferParts(content)) {
      parts.push_back(client::MemorySource(std::move(part)));
    }
    const auto dataset = connection.client.UploadDataset(MakeTransferHeader(), parts);
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    reference.transfer_digests.push_back(dataset.value_or(v1::Dataset()).digest());
  }
  std::map<std::string, std::string> jobs;
  for (size_t content = 0; content < kContents; ++content) {
    for (size_t recipe = 0; recipe < kRecipes; ++recipe) {
      v1::TrainRequest request = MakeRecipe(static_cast<int>(recipe));
      request.add_data()->set_dataset(absl::StrCat("datasets/content-", content));
      const auto job = connection.client.Train(request);
      EXPECT_TRUE(job.ok()) << job.status();
      jobs[CombinationOf(content, recipe)] = job.value_or(v1::Job()).name();
    }
  }
  for (const auto& [combination, job] : jobs) {
    const std::string model = FaultTest::WatchToEnd(connection.client, job);
    reference.model_digests[combination] = ExportedDigest(connection.client, model);
    for (size_t other = 0; other < kContents; ++other) {
      const auto bits = PredictBits(connection, model, absl::StrCat("datasets/content-", other));
      EXPECT_TRUE(bits.ok()) << bits.status();
      const std::string key = PredictionKey(combination, other);
      reference.predictions[key] = bits.value_or("");
      AddWorks(connection, model, absl::StrCat("datasets/content-", other), key, reference);
    }
  }
  return reference;
}

Campaign::Campaign(uint64_t seed, const ServerProcessOptions& options, const Reference& reference)
    : random_(seed), options_(options) {
  for (int i = 0; i < kClients; ++i) {
    clients_.push_back(
        std::make_unique<CrashClient>(absl::StrCat("client", i), random_(), reference, ledger_));
  }
}

void Campaign::LiveAndDie() {
  const NamedMoment& aim = kMoments[Draw(random_, kMoments.size())];
  const double part = std::uniform_real_distribution<double>(0, 1)(random_);
  Life life;
  life.moment = aim.moment;
  life.delay =
      part * (aim.moment == Moment::kStart ? absl::Milliseconds(250) : absl::Milliseconds(30));
  life.longest *= aim.moment == Moment::kAnytime ? part : 1;
  life.drain = Draw(random_, 10) == 0 ? part * absl::Milliseconds(300) : absl::ZeroDuration();
  SCOPED_TRACE(absl::StrCat("killed ", absl::FormatDuration(life.delay), " after ", aim.name,
                            ", drained for ", absl::FormatDuration(life.drain)));
  LiveAndDie(life);
}

void Campaign::LiveAndDie(const Life& life) {
  ServerProcess server(options_);
  Run(server, life);
}

void Campaign::LiveAndDie(const FaultyLife& faulty) {
  SCOPED_TRACE(absl::StrCat(faulty.end, " before call ", faulty.call));
  const std::filesystem::path after = options_.data_dir.string() + ".after";
  ServerProcessOptions options = options_;
  options.program = "tests/mercer-server-faulty";
  options.environment = {absl::StrCat("MERCER_FAULTY_FOLDER=", options.data_dir.string()),
                         absl::StrCat("MERCER_FAULTY_CALL=", faulty.call),
                         absl::StrCat("MERCER_FAULTY_END=", faulty.end),
                         absl::StrCat("MERCER_FAULTY_AFTER=", after.string())};
  {
    ServerProcess server(options);
    Run(server, Life());
  }
  std::filesystem::remove_all(after.string() + ".part");
  if (std::filesystem::exists(after)) {
    std::filesystem::remove_all(options.data_dir);
    std::filesystem::rename(after, options.data_dir);
  }
}

void Campaign::Run(ServerProcess& server, const Life& life) {
  Killer killer(server, life.moment, life.delay);
  killer.Reach(Moment::kStart);
  if (server.WaitUntilListening()) {
    Trouble(server, killer, life);
  }
  const int code = server.WaitForExit();
  EXPECT_TRUE(code == -SIGKILL || (life.drain > absl::ZeroDuration() && code == 0)) << code << "\n"
                                                                                    << server.Log();
}

void Campaign::Trouble(ServerProcess& server, Killer& killer, const Life& life) {
  Connection connection(server.address());
  const OnMoment on_moment = [&killer](Moment moment) { killer.Reach(moment); };
  std::atomic<bool> over = false;
  absl::Mutex mutex;
  bool lost = false;  // guarded by mutex
  std::vector<std::thread> threads;
  for (const auto& client : clients_) {
    threads.emplace_back([&, client = client.get()] {
      client->Live(connection, on_moment);
      const absl::MutexLock lock(&mutex);
      lost = true;
    });
  }
  for (int i = 0; i < kWatchers; ++i) {
    threads.emplace_back([&, seed = random_()] { Watch(connection, seed, on_moment, over); });
  }
  {
    const absl::MutexLock lock(&mutex);
    mutex.AwaitWithTimeout(absl::Condition(&lost), life.longest);
  }
  if (life.drain > absl::ZeroDuration()) {
    connection.draining = true;
    server.Terminate();
    absl::SleepFor(life.drain);
  }
  server.Kill();
  over = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void Campaign::Watch(Connection& connection, uint64_t seed, const OnMoment& on_moment,
                     const std::atomic<bool>& over) {
  Random random(seed);
  const auto may_go_on = [&](const v1::ProgressEvent& event) {
    const v1::JobState state = event.state_change().state();
    if (event.has_resumed()) {
      on_moment(Moment::kResumed);
    } else if (state == v1::JOB_STATE_VERIFYING) {
      on_moment(Moment::kVerifying);
    } else if (state >= v1::JOB_STATE_SUCCEEDED) {
      on_moment(Moment::kEnded);
    }
    return Draw(random, 10) != 0;
  };
  while (!over) {
    const absl::Status watched = ledger_.WatchSome(connection, random, may_go_on);
    if (absl::IsUnavailable(watched) || (connection.draining && absl::IsCancelled(watched))) {
      return;
    }
    EXPECT_TRUE(watched.ok()) << watched;
    absl::SleepFor(absl::Milliseconds(1));  // there may be no job to be watched
  }
}

void Campaign::CheckAll(Connection& connection) {
  std::set<std::string> operations;
  for (const auto& client : clients_) {
    client->SettleAll(connection);
  }
  for (const std::string& job : ledger_.Names()) {
    const absl::Status ended = ledger_.Await(connection, job);
    ASSERT_TRUE(ended.ok()) << job << ": " << ended;
  }
  std::map<std::string, std::vector<int64_t>> versions;
  for (const auto& client : clients_) {
    client->CheckAll(connection);
    operations.insert(client->job_operations().begin(), client->job_operations().end());
  }
  const auto jobs = connection.client.ListJobs({}, 1'000'000);
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_EQ(jobs->size(), operations.size());
  for (const v1::Job& job : *jobs) {
    EXPECT_EQ(operations.count(job.labels().at("op")), 1U) << job.ShortDebugString();
    if (!job.model().empty()) {
      const size_t slash = job.model().rfind('/');
      versions[job.model().substr(0, slash)].push_back(std::stol(job.model().substr(slash + 1)));
    }
  }
  for (auto& [model, numbers] : versions) {
    std::sort(numbers.begin(), numbers.end());
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(numbers[i], static_cast<int64_t>(i) + 1) << model;
    }
  }
}

void Campaign::Finish() {
  ServerProcess server(options_);
  ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
  {
    Connection connection(server.address());
    CheckAll(connection);
  }
  server.Terminate();
  EXPECT_EQ(server.WaitForExit(), 0) << server.Log();
}

int64_t Campaign::operations() const {
  int64_t sum = 0;
  for (const auto& client : clients_) {
    sum += client->operations();
  }
  return sum;
}

std::string Campaign::works() const {
  size_t works = 0;
  int64_t lost = 0;
  for (const auto& client : clients_) {
    works += client->num_works();
    lost += client->num_lost_works();
  }
  return absl::StrCat("works=", works, " lost_works=", lost);
}

ExpectedBlobs Campaign::expected_blobs() const {
  ExpectedBlobs blobs;
  for (const auto& client : clients_) {
    client->AddExpectedBlobs(blobs);
  }
  for (const std::string& digest : blobs.models) {
    blobs.stopped_models.erase(digest);  // the stop came when the training was over
  }
  return blobs;
}

}  // namespace mercer::server
