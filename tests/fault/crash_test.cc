// Kills a busy server again and again, and holds it to everything that it has said: at random moments of its life, and
// before every call that changes a file.
//
// MERCER_CRASH_KILLS, MERCER_CRASH_CAMPAIGNS and MERCER_CRASH_SEED change how often, how often anew in an empty folder,
// and where the random numbers begin; MERCER_CRASH_CALLS: up to which call all are taken, and not a few drawn ones.
// `./dev test crash --long` sets them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "tests/fault/campaign.h"
#include "tests/fault/crash_workload.h"
#include "tests/fault/fault_fixture.h"

namespace mercer::server {
namespace {

constexpr int kLongerLives = 10;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given != nullptr && *given != 0 ? std::strtoull(given, nullptr, 10) : otherwise;
}

uint64_t FirstSeed() { return FromEnvironment("MERCER_CRASH_SEED", std::random_device()()); }

class CrashTest : public FaultTest {
 protected:
  const Reference& reference() {
    static const Reference made = MakeReference(BusyOptions(Options("reference")));
    return made;
  }

  // The same content is stored once, and nothing besides.
  static void ExpectBlobs(size_t count, const ExpectedBlobs& blobs) {
    const size_t least =
        blobs.datasets.size() + 2 * blobs.models.size() + blobs.stopped_models.size();
    EXPECT_GE(count, least);
    EXPECT_LE(count, least + blobs.stopped_models.size()) << "a stopped model has a witness";
  }

  // The server itself finds every row, file and reference right.
  void ExpectSound(const std::string& name) {
    ServerProcessOptions options = Options(name);
    options.flags = {"--check"};
    ServerProcess check(options);
    EXPECT_EQ(check.WaitForExit(), 0) << check.Log();
  }

  // Lets one campaign run, life after life.
  template <typename Lives>
  void RunCampaign(uint64_t seed, Lives lives) {
    const absl::Time begin = absl::Now();
    const std::string name = absl::StrCat("data-", seed);
    std::filesystem::create_directory(folder_ / name);
    Campaign campaign(seed, BusyOptions(Options(name)), reference());
    const int64_t kills = lives(campaign);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    campaign.Finish();
    campaign.Finish();  // after a drain and another start everything is as before
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    ExpectBlobs(CountFiles(name + "/blobs"), campaign.expected_blobs());
    EXPECT_EQ(CountFiles(name + "/uploads"), 0);
    ExpectSound(name);
    std::filesystem::remove_all(folder_ / name);
    std::printf("%s\n",
                absl::StrCat("seed=", seed, " kills=", kills, " operations=", campaign.operations(),
                             " trainings=", campaign.ledger().Names().size(), " ", campaign.works(),
                             " events=", campaign.ledger().num_events(),
                             " resumptions=", campaign.ledger().num_resumptions(),
                             " seconds=", absl::ToInt64Seconds(absl::Now() - begin))
                    .c_str());
    std::fflush(stdout);
  }
};

TEST_F(CrashTest, NothingAcknowledgedIsLostAndModelsAreTheSame) {
  const uint64_t first_seed = FirstSeed();
  const uint64_t campaigns = FromEnvironment("MERCER_CRASH_CAMPAIGNS", 1);
  const uint64_t kills = FromEnvironment("MERCER_CRASH_KILLS", 30);
  ASSERT_EQ(reference().model_digests.size(), kContents * kRecipes);
  for (uint64_t seed = first_seed; seed < first_seed + campaigns && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("MERCER_CRASH_SEED=", seed, " MERCER_CRASH_KILLS=", kills));
    RunCampaign(seed, [&](Campaign& campaign) {
      for (uint64_t kill = 1; kill <= kills && !HasFailure(); ++kill) {
        SCOPED_TRACE(absl::StrCat("kill ", kill));
        campaign.LiveAndDie();
      }
      // Without a resumption the test would also pass if every attempt began from the start. Beside other programs lives may all have
      // been too short for a checkpoint.
      const auto none_resumed = [&] { return campaign.ledger().num_resumptions() == 0; };
      int longer = 0;
      for (; longer < kLongerLives && none_resumed() && !HasFailure(); ++longer) {
        SCOPED_TRACE(absl::StrCat("longer life ", longer));
        campaign.LiveAndDie(Life{.longest = absl::Seconds(5)});
      }
      EXPECT_FALSE(none_resumed());
      return static_cast<int64_t>(kills) + longer;
    });
  }
}

// Calls before which lives end: all up to MERCER_CRASH_CALLS; else a few, every other one in a start or a recovery, which
// make about a hundred calls.
std::vector<int64_t> ChooseCalls(Random& random) {
  std::vector<int64_t> calls(FromEnvironment("MERCER_CRASH_CALLS", 0));
  std::iota(calls.begin(), calls.end(), 1);
  for (int i = 0; i < 4 && calls.size() < 8; ++i) {
    calls.push_back(1 + static_cast<int64_t>(Draw(random, 100)));
    calls.push_back(100 + static_cast<int64_t>(Draw(random, 2000)));
  }
  std::shuffle(calls.begin(), calls.end(), random);
  return calls;
}

TEST_F(CrashTest, EndBeforeAnyCallThatChangesAFileLosesNothing) {
  const uint64_t seed = FirstSeed();
  SCOPED_TRACE(absl::StrCat("MERCER_CRASH_SEED=", seed));
  RunCampaign(seed, [&](Campaign& campaign) {
    Random random(seed);
    int64_t kills = 0;
    for (const int64_t call : ChooseCalls(random)) {
      for (const char* end : {"kill", "power", "power-some"}) {
        if (!HasFailure()) {
          campaign.LiveAndDie(FaultyLife{call, end});
          ++kills;
        }
      }
    }
    return kills;
  });
}

}  // namespace
}  // namespace mercer::server
