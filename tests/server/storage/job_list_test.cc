#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/migrations.h"
#include "server/storage/sqlite/database/row_checksums.h"
#include "server/storage/sqlite/jobs.h"

namespace mercer::server {
namespace {

constexpr int kStoredJobs = 6000;

// More jobs than are counted before a list decides which index it walks along; every plan must give the same answer as
// a look at every job.
TEST(JobListTest, AnswersDoNotDependOnWhatIsRare) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / absl::StrCat("mercer-job-list-", getpid());
  std::filesystem::create_directories(folder);
  auto opened = Connection::Open(folder / "mercer.db", Connection::Mode::kReadWrite);
  ASSERT_TRUE(opened.ok()) << opened.status();
  Connection& connection = **opened;
  ASSERT_TRUE(MigrateDatabase(connection, absl::Now()).ok());
  // State 5 but for one of 7; labels: a=1 on all, a second key on every second, a rare one.
  const std::string series = absl::StrCat(
      "WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ",
      kStoredJobs, ") ");
  ASSERT_TRUE(
      connection
          .Execute(absl::StrCat(
              "BEGIN;", series,
              "INSERT INTO jobs(number, id, state, priority, request_digest, learner, model_name, "
              "memory_bytes, create_time) SELECT n, 'j' || n, CASE WHEN n % 7 = 0 THEN 1 + n % 6 "
              "ELSE 5 END, 0, '', '', '', 0, 0 FROM series;",
              series, "INSERT INTO job_labels(owner, key, value) SELECT n, 'a', '1' FROM series;",
              series,
              "INSERT INTO job_labels(owner, key, value) SELECT n, 'b', 'x' FROM series WHERE n % "
              "2 = 0;",
              series,
              "INSERT INTO job_labels(owner, key, value) SELECT n, 'c', 'y' FROM series WHERE n % "
              "500 = 3; COMMIT"))
          .ok());
  ASSERT_TRUE(RefreshChecksums(connection).ok());
  ASSERT_TRUE(AddCheckedViews(connection).ok());
  const auto passes = [](int64_t n, const JobFilter& filter) {
    const auto state = static_cast<JobState>(n % 7 == 0 ? 1 + n % 6 : 5);
    const bool in_states =
        filter.states.empty() ||
        std::find(filter.states.begin(), filter.states.end(), state) != filter.states.end();
    return in_states && (!filter.labels.contains("b") || n % 2 == 0) &&
           (!filter.labels.contains("c") || n % 500 == 3) && !filter.labels.contains("d");
  };
  RandomStream random(3, "filters");
  const auto one_of = [&random](int count) { return static_cast<int>(random.Uniform() * count); };
  for (int round = 0; round < 300; ++round) {
    JobFilter filter;
    filter.query.rows_at_once = kStoredJobs;
    for (int i = one_of(4); i > 0; --i) {
      filter.states.push_back(static_cast<JobState>(1 + one_of(7)));
    }
    for (const auto& [key, value] : Labels{{"a", "1"}, {"b", "x"}, {"c", "y"}, {"d", "none"}}) {
      if (one_of(key == "d" ? 10 : 2) == 0) {
        filter.labels[key] = value;
      }
    }
    const int64_t before =
        round % 3 == 0 ? std::numeric_limits<int64_t>::max() : 1 + one_of(kStoredJobs);
    const int limit = 1 + one_of(60);
    std::vector<int64_t> expected;
    for (int64_t n = std::min<int64_t>(before - 1, kStoredJobs);
         n >= 1 && static_cast<int>(expected.size()) < limit; --n) {
      if (passes(n, filter)) {
        expected.push_back(n);
      }
    }
    const auto found = FindJobs(connection, filter, absl::StrCat(before), limit);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->numbers, expected) << "round " << round << ", " << filter.states.size()
                                        << " states, " << filter.labels.size() << " labels";
  }
  opened->reset();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mercer::server
