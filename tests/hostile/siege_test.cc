// Known callers' calls go on through attacks and are answered about as soon as ever, health within
// a second, and the memory stays bounded.
#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hostile/attacks.h"
#include "tests/hostile/hostile_fixture.h"
#include "tests/hostile/known_callers.h"
#include "tests/support/sanitized.h"

namespace mercer::server {
namespace {

constexpr int kAttackers = 4;
constexpr absl::Duration kPeace = absl::Seconds(3);
constexpr absl::Duration kSiege = absl::Seconds(4);
// What the 99th percentile of a kind of call may become, as a multiple of what it is without the
// attack, and milliseconds that it may always have: on two processors beside four attackers, five
// callers and the server's threads each of the four to six switches of threads that a call takes
// waits for up to ten turns of about 3 ms. So much is the scheduler's, of whatever the server does.
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
};

TEST_P(SiegeTest, KnownCallersGoOn) {
  KnownCallers callers(server());
  absl::SleepFor(kPeace);
  const KnownCallers::Figures peace = callers.Take();
  ASSERT_EQ(peace.milliseconds.size(), 5U);
  std::atomic<bool> over = false;
  std::vector<std::thread> attackers;
  for (int i = 0; i < kAttackers; ++i) {
    attackers.emplace_back([&] { GetParam().run(server(), over); });
  }
  absl::SleepFor(kSiege);
  const KnownCallers::Figures figures = callers.Finish();
  over = true;
  for (std::thread& attacker : attackers) {
    attacker.join();
  }
  EXPECT_THAT(figures.failures, testing::IsEmpty()) << Log();
  EXPECT_EQ(figures.milliseconds.size(), 5U);  // each kind was answered
  if (!machine_is_busy()) {
    EXPECT_LT(SlowestHealth(figures), 1000);
  }
  ExpectNearlyAsSoon(peace, figures, !machine_is_busy());
  RecordProperty("slowest_health_ms", static_cast<int>(SlowestHealth(figures)));
  RecordProperty("peak_mib", static_cast<int>(server().PeakBytes() >> 20));
  ExpectPeakWithin(int64_t{512} << 20);
}

INSTANTIATE_TEST_SUITE_P(Attacks, SiegeTest, testing::ValuesIn(Attacks()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace mercer::server
