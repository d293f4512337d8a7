// Kills a busy server again and again, at random moments of its life, and holds it to everything that it has said.
//
// MERCER_CRASH_KILLS, MERCER_CRASH_CAMPAIGNS and MERCER_CRASH_SEED change how often, how often anew in an empty folder,
// and where the random numbers begin; `./dev test crash --long` sets them.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

#include "tests/fault/crash_client.h"
#include "tests/fault/crash_moments.h"
#include "tests/fault/crash_workload.h"
#include "tests/fault/fault_fixture.h"
#include "tests/fault/ledger.h"
#include "tests/support/server/server_process.h"

namespace mercer::server {
namespace {

constexpr int kClients = 3;
constexpr int kWatchers = 2;
// A life ends after this time at the latest when its moment does not come.
constexpr absl::Duration kLongestLife = absl::Milliseconds(900);

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr && *given != 0 ? std::strtoull(given, nullptr, 10) : otherwise;
}

class CrashTest : public FaultTest {
 protected:
  ServerProcessOptions BusyOptions(const std::string& name) const {
    ServerProcessOptions options = Options(name);
    // A job that is killed with its server is not to blame, however often that happens here.
    options.flags = {"--workers=2", "--threads=1", "--checkpoint-interval=0",
                     "--max-lost-attempts=1000000"};
    return options;
  }

  // Trains everything once without interruption.
  Reference MakeReference() const;
};

Reference CrashTest::MakeReference() const {
  Reference reference;
  reference.contents = MakeContents();
  ServerProcess server(BusyOptions("reference"));
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
    const std::string model = WatchToEnd(connection.client, job);
    reference.model_digests[combination] = ExportedDigest(connection.client, model);
    for (size_t other = 0; other < kContents; ++other) {
      const auto bits = PredictBits(connection, model, absl::StrCat("datasets/content-", other));
      EXPECT_TRUE(bits.ok()) << bits.status();
      reference.predictions[PredictionKey(combination, other)] = bits.value_or("");
    }
  }
  return reference;
}

// One folder and the many lives of the server on it.
class Campaign {
 public:
  Campaign(uint64_t seed, const ServerProcessOptions& options, const Reference& reference)
      : random_(seed), options_(options) {
    for (int i = 0; i < kClients; ++i) {
      clients_.push_back(
          std::make_unique<CrashClient>(absl::StrCat("client", i), random_(), reference, ledger_));
    }
  }

  void LiveAndDie();
  // Lets every job come to its end, checks everything, and drains.
  void Finish();
  int64_t operations() const {
    int64_t sum = 0;
    for (const auto& client : clients_) {
      sum += client->operations();
    }
    return sum;
  }
  const Ledger& ledger() const { return ledger_; }
  size_t num_expected_blobs() const;

 private:
  // Lets clients and watchers loose on the server until it dies: by the killer, after `longest`, or draining.
  void Trouble(ServerProcess& server, Killer& killer, absl::Duration longest, absl::Duration drain);
  void Watch(Connection& connection, uint64_t seed, const OnMoment& on_moment,
             const std::atomic<bool>& over);
  // Hears every job to its end; then expects of the server all that is known, and not one thing more.
  void CheckAll(Connection& connection);

  Random random_;
  const ServerProcessOptions options_;
  Ledger ledger_;
  std::vector<std::unique_ptr<CrashClient>> clients_;
};

void Campaign::LiveAndDie() {
  const NamedMoment& aim = kMoments[Draw(random_, kMoments.size())];
  const double part = std::uniform_real_distribution<double>(0, 1)(random_);
  const bool drains = Draw(random_, 10) == 0;
  const absl::Duration delay =
      part * (aim.moment == Moment::kStart ? absl::Milliseconds(250) : absl::Milliseconds(30));
  SCOPED_TRACE(absl::StrCat("killed ", absl::FormatDuration(delay), " after ", aim.name,
                            drains ? ", draining" : ""));
  ServerProcess server(options_);
  Killer killer(server, aim.moment, delay);
  killer.Reach(Moment::kStart);
  if (server.WaitUntilListening()) {
    Trouble(server, killer, aim.moment == Moment::kAnytime ? part * kLongestLife : kLongestLife,
            drains ? part * absl::Milliseconds(300) : absl::ZeroDuration());
  } else {
    EXPECT_EQ(aim.moment, Moment::kStart) << server.Log();
  }
  const int code = server.WaitForExit();
  EXPECT_TRUE(code == -SIGKILL || (drains && code == 0)) << code << "\n" << server.Log();
}

void Campaign::Trouble(ServerProcess& server, Killer& killer, absl::Duration longest,
                       absl::Duration drain) {
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
    mutex.AwaitWithTimeout(absl::Condition(&lost), longest);
  }
  if (drain > absl::ZeroDuration()) {
    connection.draining = true;
    server.Terminate();
    absl::SleepFor(drain);
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

size_t Campaign::num_expected_blobs() const {
  std::set<std::string> datasets;
  std::set<std::string> models;
  for (const auto& client : clients_) {
    client->AddExpectedBlobs(datasets, models);
  }
  return datasets.size() + 2 * models.size();  // every model has a witness
}

TEST_F(CrashTest, NothingAcknowledgedIsLostAndModelsAreTheSame) {
  const uint64_t first_seed = FromEnvironment("MERCER_CRASH_SEED", std::random_device()());
  const uint64_t campaigns = FromEnvironment("MERCER_CRASH_CAMPAIGNS", 1);
  const uint64_t kills = FromEnvironment("MERCER_CRASH_KILLS", 30);
  const Reference reference = MakeReference();
  ASSERT_EQ(reference.model_digests.size(), kContents * kRecipes);
  for (uint64_t seed = first_seed; seed < first_seed + campaigns; ++seed) {
    SCOPED_TRACE(absl::StrCat("MERCER_CRASH_SEED=", seed, " MERCER_CRASH_KILLS=", kills));
    const absl::Time begin = absl::Now();
    const std::string name = absl::StrCat("data-", seed);
    Campaign campaign(seed, BusyOptions(name), reference);
    for (uint64_t kill = 1; kill <= kills && !HasFailure(); ++kill) {
      SCOPED_TRACE(absl::StrCat("kill ", kill));
      campaign.LiveAndDie();
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    campaign.Finish();
    campaign.Finish();  // after a drain and another start everything is as before
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    EXPECT_EQ(CountFiles(name + "/blobs"), campaign.num_expected_blobs());
    EXPECT_EQ(CountFiles(name + "/uploads"), 0);
    // Without this the test would also pass if every attempt began from the start.
    EXPECT_GT(campaign.ledger().num_resumptions(), 0);
    std::filesystem::remove_all(folder_ / name);
    std::printf(
        "seed=%llu kills=%llu operations=%lld jobs=%zu events=%zu resumptions=%d seconds=%.0f\n",
        static_cast<unsigned long long>(seed), static_cast<unsigned long long>(kills),
        static_cast<long long>(campaign.operations()), campaign.ledger().Names().size(),
        campaign.ledger().num_events(), campaign.ledger().num_resumptions(),
        absl::ToDoubleSeconds(absl::Now() - begin));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace mercer::server
