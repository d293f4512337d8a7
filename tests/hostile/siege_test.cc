// Known callers' calls go on through attacks, health is answered within a second, and the memory stays bounded. Floods of resets are
// in http2_flood_test.cc: other calls wait until they are broken off.
#include <algorithm>
#include <thread>

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
constexpr absl::Duration kSiege = absl::Seconds(4);
constexpr absl::Duration kPatience = absl::Minutes(1);

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
  std::atomic<bool> over = false;
  std::vector<std::thread> attackers;
  for (int i = 0; i < kAttackers; ++i) {
    attackers.emplace_back([&] { GetParam().run(server(), over); });
  }
  absl::SleepFor(kSiege);
  // On a slow machine a training may not have come to its end yet.
  const bool all_answered = callers.WaitForEachKind(kPatience);
  const KnownCallers::Figures figures = callers.Take();
  over = true;
  for (std::thread& attacker : attackers) {
    attacker.join();
  }
  EXPECT_THAT(figures.failures, testing::IsEmpty()) << Log();
  EXPECT_TRUE(all_answered) << figures.milliseconds.size() << " kinds of calls were answered";
  if (!machine_is_busy()) {
    EXPECT_LT(SlowestHealth(figures), 1000);
  }
  RecordProperty("slowest_health_ms", static_cast<int>(SlowestHealth(figures)));
  RecordProperty("peak_mib", static_cast<int>(server().PeakBytes() >> 20));
  ExpectPeakWithin(int64_t{512} << 20);
}

INSTANTIATE_TEST_SUITE_P(Attacks, SiegeTest, testing::ValuesIn(Attacks()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace mercer::server
