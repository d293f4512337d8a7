#include "tests/hostile/hostile_fixture.h"

#include <algorithm>
#include <ctime>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "tests/support/peak_growth.h"

namespace mercer::server {

namespace {

std::filesystem::path FolderOfTest() {
  std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::replace(test.begin(), test.end(), '/', '_');  // of tests with parameters
  return std::filesystem::temp_directory_path() /
         absl::StrCat("mercer_hostile_", getpid(), "_", test);
}

// A tenth of a second of this thread's processor time takes twice as long.
bool IsMachineBusy() {
  constexpr double kWork = 0.1;
  const absl::Time begin = absl::Now();
  timespec used = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  const absl::Duration before = absl::DurationFromTimespec(used);
  while (absl::DurationFromTimespec(used) - before < absl::Seconds(kWork)) {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  }
  return absl::Now() - begin > absl::Seconds(2 * kWork);
}

}  // namespace

HostileTest::HostileTest() : machine_is_busy_(IsMachineBusy()), server_(FolderOfTest()) {
  ExpectHealthy();
}

void HostileTest::ExpectPeakWithin(int64_t bytes) const {
  const int64_t peak = server_.PeakBytes();
  RecordProperty("peak_mib", static_cast<int>(peak >> 20));
  if (kGrowthIsMemoryHeld) {
    EXPECT_LT(peak, bytes);
  }
}

void HostileTest::ExpectHealthy() const {
  const absl::Time begin = absl::Now();
  absl::Duration waited;
  do {
    const absl::Time asked = absl::Now();
    const grpc::Status status =
        CallRaw(NewChannel(), {.path = "/grpc.health.v1.Health/Check", .message = MessageOf("")});
    EXPECT_TRUE(status.ok()) << status.error_message();
    waited = absl::Now() - asked;
  } while (waited >= absl::Seconds(1) && !machine_is_busy_ &&
           absl::Now() - begin < absl::Seconds(5));
  if (!machine_is_busy_) {
    EXPECT_LT(waited, absl::Seconds(1));
  }
}

}  // namespace mercer::server
