// Known callers' calls go on through attacks and are answered about as soon as ever, health within a second, and the memory stays
// bounded. Floods of resets are in http2_flood_test.cc: other calls wait until they are broken off.
#include <algorithm>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hostile/attacks.h"
#include "tests/hostile/hostile_fixture.h"
#include "tests/hostile/known_callers.h"
#include "tests/support/sanitized.h"
#include "tests/support/thorough.h"

namespace mercer::server {
namespace {

constexpr int kAttackers = 4;
constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr absl::Duration kPeace = absl::Milliseconds(1000);
// Hosts that are broken off come back after two seconds.
constexpr absl::Duration kSiege = absl::Milliseconds(2500);
// What the 99th percentile of a kind of call may become: a multiple of what it is without the attack, but so many milliseconds at any
// rate, which are some turns of the scheduler of two processors and not the server's.
constexpr double kMostSlowdown = 10;
constexpr double kScheduling = 100;

// Expects that no kind of call was much slower than in peace, and notes by how much.
void ExpectNearlyAsSoon(const KnownCallers::Figures& peace, const KnownCallers::Figures& siege,
                        bool judge) {
  for (const auto& [kind, milliseconds] : siege.milliseconds) {
    const double usual = KnownCallers::Percentile99(peace.milliseconds.at(kind));
    const double during = KnownCallers::Percentile99(milliseconds);
    if (judge) {
      EXPECT_LT(during, std::max(kMostSlowdown * usual, kScheduling))
          << kind << " usually takes " << usual << " ms";
    }
    testing::Test::RecordProperty(kind + "_usual_p99_ms", absl::StrCat(usual));
    testing::Test::RecordProperty(kind + "_siege_p99_ms", absl::StrCat(during));
  }
}

// In milliseconds; 0: there was none.
double SlowestHealth(const KnownCallers::Figures& figures) {
  const auto found = figures.milliseconds.find("health");
  return found == figures.milliseconds.end()
             ? 0
             : *std::max_element(found->second.begin(), found->second.end());
}

class SiegeTest : public HostileTest, public testing::WithParamInterface<Attack> {
 protected:
  void SetUp() override {
#ifdef MERCER_SANITIZED
    GTEST_SKIP() << "a sanitized server is too slow to judge";
#endif
  }

  // Attackers have machines of their own: here they have the time that nobody else wants.
  void RunAttack(const std::atomic<bool>& over) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
    GetParam().run(server(), over);
  }
};

TEST_P(SiegeTest, KnownCallersGoOn) {
  KnownCallers callers(server());
  absl::SleepFor(kPeace);
  ASSERT_TRUE(callers.WaitForEachKind(kPatience));
  const KnownCallers::Figures peace = callers.Take();
  std::atomic<bool> over = false;
  std::vector<std::thread> attackers;
  for (int i = 0; i < kAttackers; ++i) {
    attackers.emplace_back([&] { RunAttack(over); });
  }
  absl::SleepFor(kSiege);
  // On a slow machine a training may not have come to its end yet.
  const bool all_answered = callers.WaitForEachKind(kPatience);
  const KnownCallers::Figures figures = callers.Finish();
  over = true;
  for (std::thread& attacker : attackers) {
    attacker.join();
  }
  EXPECT_THAT(figures.failures, testing::IsEmpty()) << Log();
  EXPECT_TRUE(all_answered) << figures.milliseconds.size() << " kinds of calls were answered";
  if (!machine_is_busy()) {
    EXPECT_LT(SlowestHealth(figures), 1000);
  }
  // A percentile of a few calls says something on a machine at rest, as by night.
  ExpectNearlyAsSoon(peace, figures, IsThorough() && !machine_is_busy());
  RecordProperty("slowest_health_ms", static_cast<int>(SlowestHealth(figures)));
  ExpectPeakWithin(GetParam().most_bytes);
}

INSTANTIATE_TEST_SUITE_P(Attacks, SiegeTest, testing::ValuesIn(Attacks()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace mercer::server
