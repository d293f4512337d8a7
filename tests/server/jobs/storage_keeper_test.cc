// The collection of blobs that nothing names, while others write, and the thread that does it.
#include "server/jobs/upkeep/storage_keeper.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/barrier.h"
#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "server/digest/sha256.h"
#include "server/jobs/record/clock.h"
#include "server/jobs/upkeep/blob_collector.h"
#include "server/storage/sqlite/sqlite_storage.h"

namespace mercer::server {
namespace {

class StorageKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              absl::StrCat("mercer-keeper-", getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    SqliteOptions options;
    options.folder = folder_;
    auto storage = OpenSqliteStorage(options);
    ASSERT_TRUE(storage.ok()) << storage.status();
    storage_ = *std::move(storage);
    auto blobs = OpenBlobStore(folder_ / "blobs");
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    blobs_ = *std::move(blobs);
  }
  void TearDown() override {
    storage_.reset();
    std::filesystem::remove_all(folder_);
  }

  PinnedBlob Put(const std::string& content) {
    auto blob = blobs_->Put(content);
    EXPECT_TRUE(blob.ok()) << blob.status();
    return *std::move(blob);
  }
  absl::Status AddDataset(const std::string& id, const std::string& blob) {
    DatasetRecord dataset;
    dataset.id = id;
    dataset.blob = blob;
    dataset.create_time = absl::FromUnixSeconds(1);
    return storage_->datasets().CreateDataset(dataset).status();
  }
  bool IsThere(const std::string& digest) { return blobs_->Read(digest).ok(); }

  std::filesystem::path folder_;
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<BlobStore> blobs_;
};

TEST_F(StorageKeeperTest, BlobBetweenItsCommitAndItsRowSurvives) {
  std::string digest;
  {
    const PinnedBlob blob = Put("content");
    digest = blob.digest();
    EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_), 0);
    EXPECT_TRUE(IsThere(digest));
    ASSERT_TRUE(AddDataset("a", digest).ok());
  }
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_), 0);
  EXPECT_TRUE(IsThere(digest));
  ASSERT_TRUE(storage_->datasets().DeleteDataset("a").ok());
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_), 1);
  EXPECT_FALSE(IsThere(digest));
}

// Whoever has stored it may be about to name it, wherever he is.
TEST_F(StorageKeeperTest, BlobIsLeftAloneForAGraceTime) {
  const std::string digest = Put("content").digest();
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_, absl::Hours(1)), 0);
  const std::filesystem::path path = folder_ / "blobs" / digest.substr(0, 2) / digest;
  const auto now = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, now + std::chrono::hours(5));  // of a clock that is wrong
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_, absl::Hours(1)), 0);
  std::filesystem::last_write_time(path, now - std::chrono::minutes(59));
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_, absl::Hours(1)), 0);
  std::filesystem::last_write_time(path, now - std::chrono::minutes(61));
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_, absl::Hours(1)), 1);
}

TEST_F(StorageKeeperTest, PinsAreCountedAndHoldsKeepEverything) {
  const std::string digest = Put("content").digest();
  auto first = blobs_->Pin(digest);
  auto second = blobs_->Pin(digest);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->size(), 7);
  *first = PinnedBlob();
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_), 0);
  std::shared_ptr<void> hold = *blobs_->HoldDeletions();
  *second = PinnedBlob();
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_), 0);
  hold.reset();
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_), 1);
  EXPECT_TRUE(absl::IsNotFound(blobs_->Pin(digest).status()));
}

// A data set with the same content comes while the last one of that content is deleted: in whatever order the two get
// through, a row never names a file that is gone.
TEST_F(StorageKeeperTest, DeletionThatRacesWithANewReferenceIsSafe) {
  for (int round = 0; round < 20; ++round) {
    const std::string old_id = absl::StrCat("old-", round);
    const std::string digest = Put("content").digest();
    ASSERT_TRUE(AddDataset(old_id, digest).ok());
    ASSERT_TRUE(storage_->datasets().DeleteDataset(old_id).ok());
    auto* const begin = new absl::Barrier(2);
    std::thread writer([&] {
      auto blob_writer = blobs_->NewBlob();
      ASSERT_TRUE(blob_writer.ok() && (*blob_writer)->Append("content").ok());
      if (begin->Block()) {
        delete begin;
      }
      const auto blob = (*blob_writer)->Commit();
      ASSERT_TRUE(blob.ok()) << blob.status();
      ASSERT_TRUE(AddDataset(absl::StrCat("new-", round), blob->digest()).ok());
    });
    if (begin->Block()) {
      delete begin;
    }
    EXPECT_TRUE(DeleteReleasedBlobs(*storage_, *blobs_, {digest}).ok());
    writer.join();
    ASSERT_TRUE(IsThere(digest)) << "in round " << round;
    ASSERT_TRUE(storage_->datasets().DeleteDataset(absl::StrCat("new-", round)).ok());
  }
}

TEST_F(StorageKeeperTest, CollectionsWhileOthersWriteTakeNothingThatIsNamed) {
  std::atomic<bool> done{false};
  std::atomic<int64_t> collected{0};
  std::thread collector([&] {
    while (!done) {
      const auto deleted = CollectUnreferencedBlobs(*storage_, *blobs_);
      EXPECT_TRUE(deleted.ok()) << deleted.status();
      collected += deleted.value_or(0);
    }
  });
  std::vector<std::thread> writers;
  for (int w = 0; w < 3; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < 40; ++i) {
        const std::string id = absl::StrCat("d-", w, "-", i);
        {
          const PinnedBlob blob = Put(absl::StrCat("content ", i % 5));  // shared by the writers
          EXPECT_TRUE(AddDataset(id, blob.digest()).ok());
        }
        const auto record = storage_->datasets().GetDataset(id);
        EXPECT_TRUE(record.ok() && IsThere(record->blob)) << id;
        if (i % 2 == 0) {
          EXPECT_TRUE(storage_->datasets().DeleteDataset(id).ok());
        }
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  done = true;
  collector.join();
  const auto named = storage_->ReferencedBlobs();
  ASSERT_TRUE(named.ok());
  EXPECT_FALSE(named->empty());
  for (const BlobDigest& digest : *named) {
    EXPECT_TRUE(IsThere(digest));
  }
  ASSERT_TRUE(CollectUnreferencedBlobs(*storage_, *blobs_).ok());
  EXPECT_EQ(*blobs_->List(), *named);
}

TEST_F(StorageKeeperTest, CollectsAgainAndAgainAndEndsAtOnce) {
  StorageKeeperOptions options;
  options.storage = storage_.get();
  options.blobs = blobs_.get();
  options.collect_interval = absl::Milliseconds(1);
  options.collect_grace = absl::ZeroDuration();
  {
    const StorageKeeper keeper(options);
    const absl::Duration limit = RealClock().Monotonic() + absl::Seconds(20);
    for (int round = 0; round < 3; ++round) {
      const std::string digest = Put(absl::StrCat("content ", round)).digest();
      while (IsThere(digest) && RealClock().Monotonic() < limit) {
        absl::SleepFor(absl::Milliseconds(1));
      }
      EXPECT_FALSE(IsThere(digest)) << "in round " << round;
    }
  }
  options.collect_interval = absl::Hours(1);
  const StorageKeeper idle(options);  // its destructor does not wait for an hour
}

TEST_F(StorageKeeperTest, OldJobsGoWithoutAWord) {
  ASSERT_TRUE(AddDataset("data", Put("content").digest()).ok());
  NewJob job;
  job.id = "old";
  job.dataset_ids = {"data"};
  job.now = absl::FromUnixSeconds(1'000'000'000);
  ASSERT_TRUE(storage_->jobs().CreateJob(job).ok());
  ASSERT_TRUE(storage_->jobs().CancelJob({job.id, job.now, {}, {}}).ok());
  JobRetention retention({storage_.get(), blobs_.get(), &RealClock(), nullptr}, absl::Hours(1));
  StorageKeeperOptions options;
  options.storage = storage_.get();
  options.blobs = blobs_.get();
  options.retention = &retention;
  const StorageKeeper keeper(options);
  const absl::Duration limit = RealClock().Monotonic() + absl::Seconds(20);
  while (storage_->jobs().GetJob("old").ok() && RealClock().Monotonic() < limit) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_TRUE(absl::IsNotFound(storage_->jobs().GetJob("old").status()));
}

TEST_F(StorageKeeperTest, ReserveIsMadeAndMadeAgainAfterItsUse) {
  const std::string path = folder_ / "reserve";
  DiskReserve reserve(path);
  StorageKeeperOptions options;
  options.storage = storage_.get();
  options.blobs = blobs_.get();
  options.reserve = &reserve;
  options.reserve_interval = absl::Milliseconds(1);
  const StorageKeeper keeper(options);
  const absl::Duration limit = RealClock().Monotonic() + absl::Seconds(20);
  for (int round = 0; round < 2; ++round) {
    while (!reserve.Release() && RealClock().Monotonic() < limit) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  std::error_code error;
  while (std::filesystem::file_size(path, error) != DiskReserve::kBytes &&
         RealClock().Monotonic() < limit) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_EQ(std::filesystem::file_size(path, error), DiskReserve::kBytes);
}

}  // namespace
}  // namespace mercer::server
