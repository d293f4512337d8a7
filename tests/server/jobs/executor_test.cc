#include "server/jobs/executor.h"

#include <atomic>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/process/background.h"
#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

TEST(ThreadPoolTest, RunsAllThatWasPostedBeforeItEnds) {
  std::atomic<int> runs{0};
  {
    ThreadPool pool(3);
    for (int i = 0; i < 100; ++i) {
      pool.Post([&runs] { ++runs; });
    }
  }
  EXPECT_EQ(runs, 100);
}

TEST(ThreadPoolTest, ThreadsAreInTheBackgroundWhenThatIsAskedFor) {
  std::atomic<int> background{0};
  std::atomic<int> normal{0};
  {
    ThreadPool patient(2, nullptr, PoolPriority::kBackground);
    ThreadPool considerate(1, nullptr, PoolPriority::kConsiderate);
    ThreadPool other(2);
    for (int i = 0; i < 10; ++i) {
      patient.Post([&background] { background += InBackground() ? 1 : 0; });
      considerate.Post([&background] { background += InBackground() ? 1 : 0; });
      other.Post([&normal] { normal += InBackground() ? 0 : 1; });
    }
  }
  EXPECT_EQ(background, 20);
  EXPECT_EQ(normal, 10);
}

TEST(ThreadPoolTest, ThreadsThatRestDoAllOfTheirWork) {
  std::atomic<int> runs{0};
  {
    ThreadPool pool(1, nullptr, PoolPriority::kConsiderate);
    for (int i = 0; i < 500; ++i) {
      pool.Post([&runs] {
        absl::SleepFor(absl::Microseconds(300));  // longer than a spell
        ++runs;
      });
    }
  }
  EXPECT_EQ(runs, 500);
}

TEST(ThreadPoolTest, ExceptionEndsItsWorkAlone) {
  std::vector<std::string> errors;
  std::atomic<int> runs{0};
  {
    ThreadPool pool(1, [&errors](const absl::Status& status) {
      errors.push_back(GetReason(status) + "; " + std::string(status.message()));
    });
    pool.Post([] { throw std::bad_alloc(); });
    pool.Post([&runs] { ++runs; });
    pool.Post([] { throw std::runtime_error("no luck"); });
    pool.Post([&runs] { ++runs; });
  }
  EXPECT_EQ(runs, 2);
  EXPECT_THAT(errors, ::testing::ElementsAre("OUT_OF_MEMORY; work of a pool: out of memory",
                                             "; work of a pool: no luck"));
}

}  // namespace
}  // namespace mercer::server
