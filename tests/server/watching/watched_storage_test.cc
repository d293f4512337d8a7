#include "server/watching/watched_storage.h"

#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/storage/sqlite/sqlite_storage.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

class WatchedStorageTest : public ::testing::Test {
 protected:
  WatchedStorageTest() {
    folder_ =
        std::filesystem::temp_directory_path() / absl::StrCat("mercer-watched-storage-", getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "copy");
  }
  ~WatchedStorageTest() override { std::filesystem::remove_all(folder_); }

  static std::unique_ptr<Storage> Open(const std::filesystem::path& folder) {
    SqliteOptions options;
    options.folder = folder;
    auto storage = OpenSqliteStorage(options);
    EXPECT_TRUE(storage.ok()) << storage.status();
    return *std::move(storage);
  }

  std::filesystem::path folder_;
};

TEST_F(WatchedStorageTest, PassesOnWhatIsAboutTheWholeStorage) {
  WatchedStorage storage(Open(folder_));
  DatasetRecord dataset;
  dataset.id = "data";
  dataset.blob = std::string(64, 'a');
  ASSERT_TRUE(storage.datasets().CreateDataset(dataset).ok());
  EXPECT_TRUE(*storage.IsBlobReferenced(dataset.blob));
  EXPECT_THAT(*storage.ReferencedBlobs(), ElementsAre(dataset.blob));
  const auto blobs = storage.WriteSnapshot(folder_ / "copy/mercer.db", [] { return false; });
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  EXPECT_THAT(*blobs, ElementsAre(dataset.blob));
  const auto copied = Open(folder_ / "copy")->datasets().GetDataset("data");
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(copied->blob, dataset.blob);
}

// Notes what it is told of the ends of jobs.
class EndListener final : public JobListener {
 public:
  EndListener(std::string name, std::vector<std::string>& notes)
      : name_(std::move(name)), notes_(notes) {}

 private:
  void OnCommit(const JobCommit& commit) override {
    if (commit.ended == nullptr) {
      return;
    }
    for (const int64_t version : commit.ended->deleted_versions) {
      notes_.push_back(absl::StrCat(name_, ": ", commit.ended->job.model_name, " ", version));
    }
  }

  const std::string name_;
  std::vector<std::string>& notes_;
};

// So that memory can forget what is gone before those who watch hear of the end.
TEST_F(WatchedStorageTest, WhoListensFirstHearsFirstOfVersionsThatAnEndDeletes) {
  WatchedStorage storage(Open(folder_));
  std::vector<std::string> notes;
  EndListener first("first", notes);
  EndListener second("second", notes);
  storage.listeners().Add(&first);
  storage.listeners().Add(&second);
  const absl::Time now = absl::FromUnixSeconds(1'000'000);
  for (const std::string id : {"a", "b"}) {
    NewJob job;
    job.id = id;
    job.model_name = "m";
    job.now = now;
    ASSERT_TRUE(storage.jobs().CreateJob(job).ok());
    ClaimRequest claim;
    claim.worker = "w";
    claim.now = now;
    claim.lease = absl::Hours(1);
    const auto claimed = storage.jobs().ClaimJob(claim);
    ASSERT_TRUE(claimed.ok() && claimed->has_value());
    AttemptEnd end;
    end.lease = {id, "w", (*claimed)->epoch};
    end.state = JobState::kSucceeded;
    end.reason = AttemptReason::kSucceeded;
    end.versions.emplace_back().model_blob = std::string(64, id[0]);
    end.events.emplace_back();
    end.now = now;
    const auto ended = storage.jobs().EndAttempt(end);
    ASSERT_TRUE(ended.ok()) << ended.status();
    if (id == "a") {
      ASSERT_TRUE(storage.models().SetRetention({"m", 1, false, now, nullptr}).ok());
    }
  }
  EXPECT_THAT(notes, ElementsAre("first: m 1", "second: m 1"));
  storage.listeners().Remove(&first);
  storage.listeners().Remove(&second);
}

}  // namespace
}  // namespace mercer::server
