#include "server/jobs/data/dataset_cache.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include <gtest/gtest.h>

#include "tests/server/jobs/job_harness.h"
#include "tests/support/server/forwarding_blobs.h"

namespace mercer::server {
namespace {

// Counts the look-ups of paths, holds them while it is told to, and fails some.
class SlowBlobs final : public ForwardingBlobStore {
 public:
  using ForwardingBlobStore::ForwardingBlobStore;

  absl::StatusOr<std::string> VerifiedPath(const std::string& digest) override {
    absl::MutexLock lock(&mutex_);
    ++calls_;
    mutex_.Await(absl::Condition(&open_));
    if (failures_ > 0) {
      --failures_;
      throw std::bad_alloc();
    }
    return inner_->VerifiedPath(digest);
  }

  void WaitForFirstCall() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int* calls) { return *calls > 0; }, &calls_));
  }
  void Open(int failures) {
    absl::MutexLock lock(&mutex_);
    failures_ = failures;
    open_ = true;
  }
  int calls() {
    absl::MutexLock lock(&mutex_);
    return calls_;
  }

 private:
  absl::Mutex mutex_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  int failures_ ABSL_GUARDED_BY(mutex_) = 0;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
};

class DatasetCacheTest : public JobManagerFixture {
 protected:
  std::string DataPath() const {
    const std::string blob = storage_->datasets().GetDataset("data")->blob;
    return absl::StrCat(folder_, "/blobs/", blob.substr(0, 2), "/", blob);
  }
  // As a disk rots: neither time nor size tells.
  static void FlipLastBit(const std::string& path) {
    const auto written = std::filesystem::last_write_time(path);
    {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(-1, std::ios::end);
      const int byte = file.get();
      file.seekp(-1, std::ios::end);
      file.put(static_cast<char>(byte ^ 1));
    }
    std::filesystem::last_write_time(path, written);
  }

  // What several threads get that ask for the same data set while the first of them opens it.
  std::vector<absl::StatusOr<OpenedDataset>> OpenAtOnce(DatasetCache& cache, SlowBlobs& blobs,
                                                        int failures) {
    constexpr int kThreads = 8;
    std::vector<absl::StatusOr<OpenedDataset>> results(kThreads);
    std::vector<std::thread> threads;
    std::atomic<int> begun{0};
    for (auto& result : results) {
      threads.emplace_back([&] {
        ++begun;
        result = cache.Open("data");
      });
    }
    blobs.WaitForFirstCall();
    while (begun < kThreads) {
      std::this_thread::yield();
    }
    blobs.Open(failures);
    for (std::thread& thread : threads) {
      thread.join();
    }
    return results;
  }
};

TEST_F(DatasetCacheTest, ThoseWhoAskAtTheSameTimeShareOneOpening) {
  SlowBlobs blobs(blobs_.get());
  DatasetCache cache(storage_.get(), &blobs);
  const auto results = OpenAtOnce(cache, blobs, 0);
  EXPECT_EQ(blobs.calls(), 1);
  for (const auto& result : results) {
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->dataset, results[0]->dataset);
    EXPECT_EQ(result->dataset->rows, 6);
  }
}

TEST_F(DatasetCacheTest, OpeningThatThrowsIsAnErrorAndTheNextOneWorks) {
  SlowBlobs blobs(blobs_.get());
  DatasetCache cache(storage_.get(), &blobs);
  const auto results = OpenAtOnce(cache, blobs, 1);
  EXPECT_GE(std::count_if(
                results.begin(), results.end(),
                [](const auto& result) { return GetReason(result.status()) == "OUT_OF_MEMORY"; }),
            1);
  EXPECT_TRUE(cache.Open("data").ok());
}

// A data set that is open already is not taken for right, and once it was uploaded again nobody gets the damaged file.
TEST_F(DatasetCacheTest, RotOfAnOpenDataSetIsFoundAndRepaired) {
  DatasetCache cache(storage_.get(), blobs_.get());
  const absl::StatusOr<OpenedDataset> open = cache.OpenVerified("data", CancellationToken());
  ASSERT_TRUE(open.ok()) << open.status();
  const std::string blob = open->record.blob;
  const std::string content = std::string((*blobs_->Read(blob))->contents());
  FlipLastBit(DataPath());
  EXPECT_EQ(GetReason(cache.OpenVerified("data", CancellationToken()).status()), "BLOB_DAMAGED");
  EXPECT_EQ(GetReason(cache.OpenContent(blob, CancellationToken()).status()), "BLOB_DAMAGED");

  const absl::StatusOr<PinnedBlob> again = blobs_->Put(content);
  ASSERT_TRUE(again.ok()) << again.status();
  const absl::StatusOr<OpenedDataset> repaired = cache.OpenVerified("data", CancellationToken());
  ASSERT_TRUE(repaired.ok()) << repaired.status();
  EXPECT_NE(repaired->dataset, open->dataset);
}

TEST_F(DatasetCacheTest, AReplacedFileIsOpenedAnew) {
  DatasetCache cache(storage_.get(), blobs_.get());
  const absl::StatusOr<OpenedDataset> open = cache.OpenVerified("data", CancellationToken());
  ASSERT_TRUE(open.ok()) << open.status();
  const std::string content((*blobs_->Read(open->record.blob))->contents());
  ASSERT_TRUE(blobs_->Put(content).ok());
  const absl::StatusOr<OpenedDataset> later = cache.OpenVerified("data", CancellationToken());
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_NE(later->dataset, open->dataset);
  EXPECT_EQ(cache.Open("data")->dataset, later->dataset);
}

constexpr int64_t kRoom = 1 << 20;

TEST_F(DatasetCacheTest, OnlyWhatIsKeptStaysOpenWithoutUsers) {
  DatasetCache kept(storage_.get(), blobs_.get(), kRoom);
  const std::weak_ptr<const Dataset> stays = kept.Open("data")->dataset;
  EXPECT_EQ(kept.OpenVerified("data", CancellationToken())->dataset, stays.lock());
  DatasetCache not_kept(storage_.get(), blobs_.get());
  const std::weak_ptr<const Dataset> goes = not_kept.Open("data")->dataset;
  EXPECT_TRUE(goes.expired());
}

TEST_F(DatasetCacheTest, WhatNobodyAsksForIsNotKeptForLong) {
  DatasetCache cache(storage_.get(), blobs_.get(), kRoom);
  absl::Duration now = absl::Seconds(100);
  const std::weak_ptr<const Dataset> dataset = cache.Open("data")->dataset;
  cache.DropUnused(now);
  EXPECT_FALSE(dataset.expired()) << "it was asked for";
  now += DatasetCache::kLookPeriod;
  EXPECT_TRUE(cache.Open("data").ok());
  cache.DropUnused(now);
  EXPECT_FALSE(dataset.expired()) << "it was asked for again";
  cache.DropUnused(now + DatasetCache::kLookPeriod / 2);
  EXPECT_FALSE(dataset.expired()) << "that is too soon";
  cache.DropUnused(now + DatasetCache::kLookPeriod);
  EXPECT_TRUE(dataset.expired());
}

TEST_F(DatasetCacheTest, NoMoreIsKeptThanThereIsRoomFor) {
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(DataPath()));
  DatasetCache too_small(storage_.get(), blobs_.get(), bytes - 1);
  const std::weak_ptr<const Dataset> too_large = too_small.Open("data")->dataset;
  EXPECT_TRUE(too_large.expired());

  AddDataset("other", 14);
  DatasetCache cache(storage_.get(), blobs_.get(), bytes);
  const std::weak_ptr<const Dataset> first = cache.Open("data")->dataset;
  const std::weak_ptr<const Dataset> second = cache.Open("other")->dataset;
  EXPECT_TRUE(first.expired());
  EXPECT_FALSE(second.expired());
}

TEST_F(DatasetCacheTest, WhatIsKeptIsNotTakenForAFileThatIsGone) {
  DatasetCache cache(storage_.get(), blobs_.get(), kRoom);
  ASSERT_TRUE(cache.Open("data").ok());
  std::filesystem::remove(DataPath());
  EXPECT_EQ(GetReason(cache.Open("data").status()), "BLOB_MISSING");
}

TEST_F(DatasetCacheTest, RotOfWhatIsKeptIsFound) {
  DatasetCache cache(storage_.get(), blobs_.get(), kRoom);
  ASSERT_TRUE(cache.Open("data").ok());
  FlipLastBit(DataPath());
  EXPECT_EQ(GetReason(cache.OpenVerified("data", CancellationToken()).status()), "BLOB_DAMAGED");
}

TEST_F(DatasetCacheTest, TrainingOnDataThatHasRottedFails) {
  StartManager();
  control_.AllowAll();
  const std::string first = Submit(Steps(2));
  manager_->WaitUntilIdle();
  ASSERT_EQ(Job(first).state, JobState::kSucceeded);
  FlipLastBit(DataPath());
  const std::string second = Submit(Steps(2));
  manager_->WaitUntilIdle();
  EXPECT_EQ(ErrorReason(second), "BLOB_DAMAGED");
}

TEST_F(DatasetCacheTest, UnknownDataSetIsNotFound) {
  DatasetCache cache(storage_.get(), blobs_.get());
  EXPECT_EQ(GetReason(cache.Open("nothing").status()), "DATASET_NOT_FOUND");
}

TEST_F(DatasetCacheTest, LostFileIsDataLossAndTellsNoPath) {
  std::filesystem::remove(DataPath());
  DatasetCache cache(storage_.get(), blobs_.get());
  const absl::Status status = cache.Open("data").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(GetReason(status), "BLOB_MISSING");
  EXPECT_EQ(std::string(status.message()).find(folder_), std::string::npos) << status;
}

}  // namespace
}  // namespace mercer::server
