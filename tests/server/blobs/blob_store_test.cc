#include "server/blobs/blob_store.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/digest/sha256.h"
#include "tests/support/server/real_file_system.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Passes everything on to the real files, until the countdown of one kind of call reaches zero;
// that call fails.
class FailingFileSystem final : public RealFileSystem {
 public:
  int appends_until_full = -1;
  int syncs_until_failure = -1;
  int renames_until_failure = -1;
  int folder_syncs_until_failure = -1;
  std::atomic<int> readings{0};               // of the contents of mapped files
  absl::Duration age = absl::ZeroDuration();  // added to that of all files

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    auto file = PosixFileSystem().Create(path);
    if (!file.ok()) {
      return file.status();
    }
    return std::make_unique<File>(this, *std::move(file));
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    auto file = PosixFileSystem().Map(path);
    if (!file.ok()) {
      return file.status();
    }
    return std::make_unique<CountingMap>(this, *std::move(file));
  }
  absl::StatusOr<FileIdentity> Identify(const std::string& path) override {
    auto identity = PosixFileSystem().Identify(path);
    if (identity.ok()) {
      identity->modified_nanoseconds -= absl::ToInt64Nanoseconds(age);
    }
    return identity;
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return Fails(renames_until_failure) ? absl::InternalError("rename failed")
                                        : PosixFileSystem().Rename(from, to);
  }
  absl::Status SyncFolder(const std::string& path) override {
    return Fails(folder_syncs_until_failure) ? absl::InternalError("folder sync failed")
                                             : PosixFileSystem().SyncFolder(path);
  }

 private:
  class CountingMap final : public MappedFile {
   public:
    CountingMap(FailingFileSystem* owner, std::unique_ptr<MappedFile> file)
        : owner_(owner), file_(std::move(file)) {}
    std::string_view contents() const override {
      ++owner_->readings;
      return file_->contents();
    }

   private:
    FailingFileSystem* owner_;
    std::unique_ptr<MappedFile> file_;
  };

  class File final : public WritableFile {
   public:
    File(FailingFileSystem* owner, std::unique_ptr<WritableFile> file)
        : owner_(owner), file_(std::move(file)) {}
    absl::Status Append(std::string_view bytes) override {
      return Fails(owner_->appends_until_full)
                 ? WithReason(absl::ResourceExhaustedError("No space left on device"), "DISK_FULL")
                 : file_->Append(bytes);
    }
    absl::Status Sync() override {
      return Fails(owner_->syncs_until_failure) ? absl::InternalError("sync failed")
                                                : file_->Sync();
    }
    absl::Status Close() override { return file_->Close(); }

   private:
    FailingFileSystem* owner_;
    std::unique_ptr<WritableFile> file_;
  };

  static bool Fails(int& countdown) { return countdown >= 0 && countdown-- == 0; }
};

class BlobStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              absl::StrCat("mercer-blobs-", getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    Reopen();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Reopen() {
    store_.reset();
    auto store = OpenBlobStore(folder_, files_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  std::string Put(const std::string& bytes) {
    const auto blob = store_->Put(bytes);
    EXPECT_TRUE(blob.ok()) << blob.status();
    return blob.ok() ? blob->digest() : "";
  }
  std::string PathOf(const std::string& digest) const {
    return absl::StrCat(folder_, "/", digest.substr(0, 2), "/", digest);
  }
  size_t NumTemporaryFiles() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_ + "/tmp/1"), {}));
  }
  void FlipBit(const std::string& digest) {
    std::fstream file(PathOf(digest), std::ios::in | std::ios::out | std::ios::binary);
    const int byte = file.get();
    file.seekp(0);
    file.put(static_cast<char>(byte ^ 1));
  }

  std::string folder_;
  FailingFileSystem files_;
  std::unique_ptr<BlobStore> store_;
};

const auto kAlways = []() -> absl::StatusOr<bool> { return true; };

TEST_F(BlobStoreTest, StoresUnderTheDigestOfTheContent) {
  auto writer = store_->NewBlob();
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Append("a").ok());
  ASSERT_TRUE((*writer)->Append("bc").ok());
  EXPECT_EQ((*writer)->size(), 3);
  const auto blob = (*writer)->Commit();
  ASSERT_TRUE(blob.ok()) << blob.status();
  EXPECT_EQ(blob->digest(), Sha256Hex("abc"));
  EXPECT_EQ(blob->size(), 3);
  Reopen();
  const auto read = store_->Read(blob->digest());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->contents(), "abc");
  EXPECT_THAT(*store_->List(), ElementsAre(blob->digest()));
}

TEST_F(BlobStoreTest, SameContentIsStoredOnce) {
  EXPECT_EQ(Put("abc"), Put("abc"));
  EXPECT_EQ(store_->List()->size(), 1U);
}

TEST_F(BlobStoreTest, EmptyBlobIsABlob) {
  const std::string digest = Put("");
  EXPECT_EQ((*store_->Read(digest))->contents(), "");
}

TEST_F(BlobStoreTest, RefusesWhatIsNotThere) {
  EXPECT_EQ(store_->Read(Sha256Hex("x")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->Read("../../etc/passwd").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->DeleteIf("zz", kAlways).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(*store_->DeleteIf(Sha256Hex("x"), kAlways));
}

TEST_F(BlobStoreTest, FlippedBitIsFoundAfterARestartAndWhileRunning) {
  const std::string digest = Put("some content");
  EXPECT_TRUE(store_->Read(digest).ok());
  FlipBit(digest);
  const absl::Status running = store_->VerifiedPath(digest).status();
  EXPECT_EQ(running.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(GetReason(running), "BLOB_DAMAGED");
  Reopen();
  EXPECT_EQ(store_->Read(digest).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Put("some content"), digest);  // writing it again repairs it
  EXPECT_TRUE(store_->Read(digest).ok());
}

// As a disk rots: neither time nor size tells.
TEST_F(BlobStoreTest, RotIsFoundByEveryReadingAndVerification) {
  files_.age = absl::Hours(1);
  const std::string digest = Put("some content");
  ASSERT_TRUE(store_->Read(digest).ok());
  ASSERT_TRUE(store_->Verify(digest, CancellationToken()).ok());
  const std::string path = PathOf(digest);
  const auto written = std::filesystem::last_write_time(path);
  FlipBit(digest);
  std::filesystem::last_write_time(path, written);
  EXPECT_EQ(GetReason(store_->Read(digest).status()), "BLOB_DAMAGED");
  EXPECT_EQ(GetReason(store_->Verify(digest, CancellationToken()).status()), "BLOB_DAMAGED");
  // What was found is known to those who look at the shape alone.
  EXPECT_EQ(GetReason(store_->VerifiedPath(digest).status()), "BLOB_DAMAGED");
  EXPECT_EQ(Put("some content"), digest);
  EXPECT_TRUE(store_->Verify(digest, CancellationToken()).ok());
}

// The quicker checksum of later verifications: the same bit of two words that it takes by the same lane, and single bits
// anywhere, the last bytes included.
TEST_F(BlobStoreTest, LaterVerificationsFindEveryFlippedBit) {
  files_.age = absl::Hours(1);
  std::string bytes;
  for (int i = 0; i < 203; ++i) {
    bytes += static_cast<char>(37 * i);
  }
  const std::string digest = Put(bytes);
  const std::string path = PathOf(digest);
  const auto written = std::filesystem::last_write_time(path);
  const auto verify_with = [&](const std::string& content) {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << content;
    std::filesystem::last_write_time(path, written);
    return store_->Verify(digest, CancellationToken()).status();
  };
  const auto flip = [](std::string content, size_t byte, int bit) {
    content[byte] = static_cast<char>(content[byte] ^ (1 << bit));
    return content;
  };
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    for (const int bit : {0, 7}) {
      ASSERT_TRUE(verify_with(bytes).ok());
      ASSERT_TRUE(verify_with(bytes).ok());
      EXPECT_EQ(GetReason(verify_with(flip(bytes, byte, bit))), "BLOB_DAMAGED") << byte;
    }
  }
  constexpr size_t kToSameLane = 64;
  for (size_t byte = 7; byte + kToSameLane < bytes.size(); byte += 8) {
    ASSERT_TRUE(verify_with(bytes).ok());
    EXPECT_EQ(GetReason(verify_with(flip(flip(bytes, byte, 7), byte + kToSameLane, 7))),
              "BLOB_DAMAGED");
  }
}

TEST_F(BlobStoreTest, VerificationCanBeCancelled) {
  const std::string digest = Put("some content");
  const CancellationToken cancelled;
  cancelled.Cancel();
  EXPECT_TRUE(absl::IsCancelled(store_->Verify(digest, cancelled).status()));
  EXPECT_TRUE(store_->Verify(digest, CancellationToken()).ok());
}

TEST_F(BlobStoreTest, BlobThatWasJustWrittenIsNotHashedAgain) {
  files_.age = absl::Hours(1);
  const std::string digest = Put("a large data set");
  ASSERT_TRUE(store_->VerifiedPath(digest).ok());
  EXPECT_EQ(files_.readings, 0);
  Reopen();
  ASSERT_TRUE(store_->VerifiedPath(digest).ok());
  EXPECT_EQ(files_.readings, 1) << "another process may have written it";
}

TEST_F(BlobStoreTest, DamageRightAfterTheWritingIsFound) {
  files_.age = -absl::Hours(1);  // as if the clock had not ticked since
  const std::string digest = Put("some content");
  const std::string path = PathOf(digest);
  const auto written = std::filesystem::last_write_time(path);
  FlipBit(digest);
  std::filesystem::last_write_time(path, written);
  EXPECT_EQ(GetReason(store_->VerifiedPath(digest).status()), "BLOB_DAMAGED");
}

TEST_F(BlobStoreTest, AbandonedWriterLeavesNothing) {
  {
    auto writer = store_->NewBlob();
    ASSERT_TRUE((*writer)->Append("abc").ok());
    EXPECT_EQ(NumTemporaryFiles(), 1U);
  }
  EXPECT_EQ(NumTemporaryFiles(), 0U);
  EXPECT_THAT(*store_->List(), IsEmpty());
}

TEST_F(BlobStoreTest, StartRemovesTemporaryFilesOfACrash) {
  std::ofstream(folder_ + "/tmp/17") << "half a blob";
  Reopen();
  EXPECT_EQ(NumTemporaryFiles(), 0U);
  Put("abc");  // also takes the first temporary name again
}

TEST_F(BlobStoreTest, FullDiskIsReportedAndLeavesNothing) {
  auto writer = store_->NewBlob();
  files_.appends_until_full = 1;
  ASSERT_TRUE((*writer)->Append("abc").ok());
  const absl::Status refused = (*writer)->Append("def");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(refused), "DISK_FULL");
  writer->reset();
  EXPECT_EQ(NumTemporaryFiles(), 0U);
  EXPECT_THAT(*store_->List(), IsEmpty());
  EXPECT_EQ(Put("abcdef"), Sha256Hex("abcdef"));  // there is space again
}

TEST_F(BlobStoreTest, EveryFailureOfCommitIsReportedAndHarmless) {
  for (int* countdown : {&files_.syncs_until_failure, &files_.renames_until_failure,
                         &files_.folder_syncs_until_failure}) {
    *countdown = 0;
    EXPECT_EQ(store_->Put("abc").status().code(), absl::StatusCode::kInternal);
    EXPECT_EQ(*countdown, -1);
    EXPECT_EQ(NumTemporaryFiles(), 0U);
  }
  EXPECT_EQ(Put("abc"), Sha256Hex("abc"));
}

TEST_F(BlobStoreTest, PinnedBlobIsNotDeleted) {
  auto blob = store_->Put("abc");
  const std::string digest = blob->digest();
  EXPECT_FALSE(*store_->DeleteIf(digest, kAlways));
  PinnedBlob moved = *std::move(blob);
  EXPECT_FALSE(*store_->DeleteIf(digest, kAlways));
  moved = PinnedBlob();
  EXPECT_FALSE(*store_->DeleteIf(digest, []() -> absl::StatusOr<bool> { return false; }));
  EXPECT_EQ(
      store_->DeleteIf(digest, []() -> absl::StatusOr<bool> { return absl::InternalError("no"); })
          .status()
          .code(),
      absl::StatusCode::kInternal);
  EXPECT_TRUE(store_->Read(digest).ok());
  EXPECT_TRUE(*store_->DeleteIf(digest, kAlways));
  EXPECT_EQ(store_->Read(digest).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(BlobStoreTest, MappedContentSurvivesDeletion) {
  const std::string digest = Put("abc");
  const auto read = store_->Read(digest);
  ASSERT_TRUE(*store_->DeleteIf(digest, kAlways));
  EXPECT_EQ((*read)->contents(), "abc");
}

TEST_F(BlobStoreTest, PutsAndDeletionsOfTheSameContentNeverLoseAPinnedBlob) {
  const std::string digest = Sha256Hex("contested");
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto blob = store_->Put("contested");
        ASSERT_TRUE(blob.ok()) << blob.status();
        EXPECT_TRUE(store_->Read(digest).ok());
      }
    });
  }
  std::thread deleter([&] {
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(store_->DeleteIf(digest, kAlways).ok());
    }
  });
  for (std::thread& writer : writers) {
    writer.join();
  }
  deleter.join();
}

TEST_F(BlobStoreTest, ReadOnlyFolderIsRefused) {
  if (geteuid() == 0) {
    GTEST_SKIP() << "root may write everywhere";
  }
  std::filesystem::permissions(
      folder_ + "/tmp/1", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const absl::Status refused = store_->Put("abc").status();
  std::filesystem::permissions(folder_ + "/tmp/1", std::filesystem::perms::owner_all);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetReason(refused), "STORAGE_READ_ONLY");
}

}  // namespace
}  // namespace mercer::server
