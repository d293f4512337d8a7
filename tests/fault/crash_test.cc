// Kills the server at random moments of its life and looks for what it had acknowledged.
#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "tests/fault/crash_workload.h"
#include "tests/fault/fault_fixture.h"
#include "tests/fault/ledger.h"
#include "tests/support/server/server_process.h"

namespace mercer::server {
namespace {

constexpr int kRounds = 4;

// Where in the life of a server its kill is aimed; the exact moment is random from there on.
enum class Moment { kUpload, kTrain, kRun, kStart, kVerify };
constexpr std::array kMoments = {Moment::kUpload, Moment::kTrain, Moment::kRun, Moment::kStart,
                                 Moment::kVerify};

std::string NameOf(Moment moment) {
  switch (moment) {
    case Moment::kUpload:
      return "upload";
    case Moment::kTrain:
      return "train";
    case Moment::kRun:
      return "run";
    case Moment::kStart:
      return "start";
    case Moment::kVerify:
      return "verify";
  }
  return "";
}

// Kills a server some time after it has reached a moment.
class Killer {
 public:
  Killer(ServerProcess& server, Moment moment, absl::Duration delay)
      : server_(server), moment_(moment), delay_(delay) {}
  ~Killer() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  // Thread-safe.
  void Reach(Moment moment) {
    const std::lock_guard lock(mutex_);
    if (moment == moment_ && !thread_.joinable()) {
      thread_ = std::thread([this] {
        absl::SleepFor(delay_);
        server_.Kill();
      });
    }
  }

 private:
  ServerProcess& server_;
  const Moment moment_;
  const absl::Duration delay_;
  std::mutex mutex_;
  std::thread thread_;
};

using OnMoment = std::function<void(Moment)>;

class CrashTest : public FaultTest {
 protected:
  ServerProcessOptions BusyOptions(const std::string& name) const {
    ServerProcessOptions options = Options(name);
    // A job that is killed with its server is not to blame, however often that happens here.
    options.flags = {"--workers=2", "--threads=1", "--checkpoint-interval=0.05",
                     "--max-lost-attempts=1000"};
    return options;
  }
};

// Watches the jobs to their ends; false when the server died before.
bool WatchAll(const std::vector<std::string>& jobs, Connection& connection, Ledger& ledger,
              const OnMoment& on_moment) {
  std::vector<absl::Status> ends(jobs.size());
  std::vector<std::thread> watchers;
  for (size_t i = 0; i < jobs.size(); ++i) {
    watchers.emplace_back([&, i] {
      ends[i] = ledger.Watch(connection, jobs[i], [&on_moment](const v1::ProgressEvent& event) {
        if (event.state_change().state() == v1::JOB_STATE_VERIFYING) {
          on_moment(Moment::kVerify);
        }
      });
    });
  }
  for (std::thread& watcher : watchers) {
    watcher.join();
  }
  bool complete = true;
  for (const absl::Status& end : ends) {
    EXPECT_TRUE(end.ok() || absl::IsUnavailable(end)) << end;
    complete = complete && end.ok();
  }
  return complete;
}

// Asks for everything in the round, whether it was asked for before or not. False when the server
// died on the way.
bool RunRound(const Round& round, Connection& connection, Ledger& ledger,
              const OnMoment& on_moment) {
  on_moment(Moment::kUpload);
  const absl::StatusOr<v1::Dataset> dataset =
      connection.client.UploadDataset(round.header, {client::MemorySource(round.csv)});
  if (!dataset.ok()) {
    EXPECT_TRUE(absl::IsUnavailable(dataset.status())) << dataset.status();
    return false;
  }
  ledger.AddDataset(round.header.request_id(), *dataset);
  on_moment(Moment::kTrain);
  std::vector<std::string> jobs;
  for (const v1::TrainRequest& request : round.trainings) {
    const absl::StatusOr<v1::Job> job = connection.client.Train(request);
    if (!job.ok()) {
      EXPECT_TRUE(absl::IsUnavailable(job.status())) << job.status();
      return false;
    }
    ledger.AddJob(request, *job);
    jobs.push_back(job->name());
  }
  on_moment(Moment::kRun);
  return WatchAll(jobs, connection, ledger, on_moment);
}

// How long things take on this machine when nobody interrupts them, and what comes out.
struct Reference {
  absl::Duration start;                        // from the program's start to its first answer
  absl::Duration round;                        // one round
  std::map<std::string, std::string> digests;  // of models, by request_id
};

Reference RunUninterrupted(const std::vector<Round>& rounds, const ServerProcessOptions& options) {
  Reference reference;
  const absl::Time begin = absl::Now();
  ServerProcess server(options);
  EXPECT_TRUE(server.WaitUntilListening()) << server.Log();
  reference.start = absl::Now() - begin;
  Connection connection(server.address());
  Ledger ledger;
  const absl::Time trained = absl::Now();
  for (const Round& round : rounds) {
    EXPECT_TRUE(RunRound(round, connection, ledger, [](Moment) {})) << server.Log();
  }
  reference.round = (absl::Now() - trained) / static_cast<int64_t>(rounds.size());
  reference.digests = ledger.ModelDigests(connection);
  return reference;
}

// The longest delay after the moment that still hits what the moment is about.
absl::Duration LongestDelay(Moment moment, const Reference& reference) {
  switch (moment) {
    case Moment::kUpload:
    case Moment::kTrain:
    case Moment::kVerify:
      return absl::Milliseconds(40);
    case Moment::kRun:
      return 0.8 * reference.round;
    case Moment::kStart:
      return 1.5 * reference.start;
  }
  return absl::ZeroDuration();
}

uint64_t ChooseSeed() {
  const char* given = std::getenv("MERCER_CRASH_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

// One life of the server, from its start to its kill.
void LiveAndDie(const Round& round, const ServerProcessOptions& options, Moment moment,
                absl::Duration delay, Ledger& ledger) {
  ServerProcess server(options);
  Killer killer(server, moment, delay);
  killer.Reach(Moment::kStart);
  if (!server.WaitUntilListening()) {
    EXPECT_EQ(moment, Moment::kStart) << server.Log();
    return;
  }
  Connection connection(server.address());
  if (moment != Moment::kStart) {
    ledger.Check(connection);
  }
  RunRound(round, connection, ledger, [&killer](Moment reached) { killer.Reach(reached); });
  killer.Reach(moment);
  EXPECT_EQ(server.WaitForExit(), -SIGKILL) << server.Log();
}

// Lets everything come to its end, and drains.
void Finish(const std::vector<Round>& rounds, const ServerProcessOptions& options, Ledger& ledger,
            const Reference& reference) {
  ServerProcess server(options);
  ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
  {
    Connection connection(server.address());
    ledger.Check(connection);
    for (const Round& round : rounds) {
      EXPECT_TRUE(RunRound(round, connection, ledger, [](Moment) {})) << server.Log();
    }
    EXPECT_EQ(ledger.ModelDigests(connection), reference.digests);
    EXPECT_EQ(connection.client.ListDatasets(1000)->size(), rounds.size());
    EXPECT_EQ(connection.client.ListJobs({}, 1000)->size(), 3 * rounds.size());
    EXPECT_EQ(connection.client.ListModels("", 1000)->size(), 3 * rounds.size());
  }
  server.Terminate();
  EXPECT_EQ(server.WaitForExit(), 0) << server.Log();
}

TEST_F(CrashTest, NothingAcknowledgedIsLostAndModelsAreTheSame) {
  const uint64_t seed = ChooseSeed();
  SCOPED_TRACE(absl::StrCat("MERCER_CRASH_SEED=", seed));
  const std::vector<Round> rounds = MakeRounds(kRounds);
  const Reference reference = RunUninterrupted(rounds, BusyOptions("reference"));
  ASSERT_EQ(reference.digests.size(), 3 * rounds.size());

  std::mt19937_64 random(seed);
  Ledger ledger;
  const ServerProcessOptions options = BusyOptions("data");
  for (const Round& round : rounds) {
    for (const Moment moment : kMoments) {
      const absl::Duration delay =
          std::uniform_real_distribution<double>(0, 1)(random) * LongestDelay(moment, reference);
      SCOPED_TRACE(absl::StrCat("killed ", absl::FormatDuration(delay), " after ", NameOf(moment),
                                " of ", round.header.dataset_id()));
      LiveAndDie(round, options, moment, delay, ledger);
      ASSERT_FALSE(HasFailure());
    }
  }
  Finish(rounds, options, ledger, reference);
  RecordProperty("round_milliseconds", absl::StrCat(reference.round / absl::Milliseconds(1)));
  RecordProperty("events", absl::StrCat(ledger.num_events()));
  RecordProperty("resumptions", absl::StrCat(ledger.CountResumptions()));
  // Without this the test would also pass if every attempt began from the start.
  EXPECT_GT(ledger.CountResumptions(), 0);

  ServerProcess server(options);
  ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
  Connection connection(server.address());
  ledger.Check(connection);
  // No leftovers: the data sets, and a model and a witness of each job.
  EXPECT_EQ(CountFiles("data/blobs"), rounds.size() * (1 + 2 * 3));
  EXPECT_EQ(CountFiles("data/uploads"), 0);
}

}  // namespace
}  // namespace mercer::server
