#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "server/watching/watchers.h"

namespace mercer::server {
namespace {

TEST(WatchedJobTest, IsWrittenOnceForAll) {
  JobRecord record;
  record.id = "job";
  const WatchedJob job(record);
  std::atomic<int> writes{0};
  std::vector<std::thread> watchers;
  for (int i = 0; i < 4; ++i) {
    watchers.emplace_back([&] {
      const absl::StatusOr<const std::string*> written =
          job.Written([&writes](const JobRecord& that) -> absl::StatusOr<std::string> {
            ++writes;
            return absl::StrCat("written ", that.id);
          });
      EXPECT_EQ(*written.value(), "written job");
    });
  }
  for (std::thread& watcher : watchers) {
    watcher.join();
  }
  EXPECT_EQ(writes, 1);
}

// What it lacked, memory perhaps, may be there for the next.
TEST(WatchedJobTest, OnlyTheWatcherWhomItCannotBeWrittenForHearsOfIt) {
  const WatchedJob job{JobRecord()};
  const auto fail = [](const JobRecord&) -> absl::StatusOr<std::string> {
    return absl::DataLossError("not a request");
  };
  EXPECT_EQ(job.Written(fail).status().code(), absl::StatusCode::kDataLoss);
  const auto write = [](const JobRecord&) -> absl::StatusOr<std::string> { return "written"; };
  EXPECT_EQ(*job.Written(write).value(), "written");
  EXPECT_EQ(*job.Written(fail).value(), "written");
}

}  // namespace
}  // namespace mercer::server
