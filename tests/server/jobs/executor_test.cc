#include "server/jobs/executor.h"

#include <atomic>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/errors.h"

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
