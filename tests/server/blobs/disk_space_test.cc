// The guard that refuses work on a nearly full disk, and the reserve for deletions.
#include <atomic>
#include <filesystem>
#include <limits>
#include <string>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/blobs/disk_guard.h"
#include "tests/support/server/real_file_system.h"

namespace mercer::server {
namespace {

using ::testing::Contains;
using ::testing::Pair;

// Says what a test wants of the space, and writes nothing when there is none.
class SmallDisk final : public RealFileSystem {
 public:
  DiskSpace space{int64_t{10} << 30, int64_t{100} << 30};
  bool unknown = false;

  absl::StatusOr<DiskSpace> Space(const std::string&) override {
    return unknown ? absl::StatusOr<DiskSpace>(absl::InternalError("no answer")) : space;
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    auto file = PosixFileSystem().Create(path);
    if (!file.ok() || !full) {
      return file;
    }
    return std::make_unique<FullFile>(*std::move(file));
  }
  bool full = false;

 private:
  class FullFile final : public WritableFile {
   public:
    explicit FullFile(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
    absl::Status Append(std::string_view) override {
      return WithReason(absl::ResourceExhaustedError("no space"), "DISK_FULL");
    }
    absl::Status Sync() override { return file_->Sync(); }
    absl::Status Close() override { return file_->Close(); }

   private:
    std::unique_ptr<WritableFile> file_;
  };
};

TEST(DiskGuardTest, RefusesBelowTheLimitAndSaysHowMuchIsMissing) {
  SmallDisk disk;
  const DiskGuard guard("/data", 1000, disk);
  disk.space.free_bytes = 1000;
  EXPECT_TRUE(guard.CheckRoom().ok());
  disk.space.free_bytes = 999;
  const absl::Status refused = guard.CheckRoom();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(refused), "DISK_NEARLY_FULL");
  EXPECT_THAT(GetErrorMetadata(refused), Contains(Pair("free_bytes", "999")));
  EXPECT_THAT(GetErrorMetadata(refused), Contains(Pair("needed_bytes", "1000")));
  disk.space.free_bytes = 1000;
  EXPECT_TRUE(guard.CheckRoom().ok()) << "by itself, when there is room again";
  disk.space.free_bytes = 1499;
  EXPECT_THAT(GetErrorMetadata(guard.CheckRoom(500)), Contains(Pair("needed_bytes", "1500")));
  EXPECT_FALSE(guard.CheckRoom(std::numeric_limits<int64_t>::max()).ok());
  disk.space.free_bytes = 1500;
  EXPECT_TRUE(guard.CheckRoom(500).ok());
}

TEST(DiskGuardTest, DefaultIsTheSmallerOfOneGigabyteAndTwoPercent) {
  SmallDisk disk;
  const DiskGuard guard("/data", 0, disk);
  disk.space = {(int64_t{1} << 30) - 1, int64_t{100} << 30};
  EXPECT_FALSE(guard.CheckRoom().ok());
  disk.space.free_bytes += 1;
  EXPECT_TRUE(guard.CheckRoom().ok());
  disk.space = {1999, 100'000};
  EXPECT_FALSE(guard.CheckRoom().ok());
  disk.space.free_bytes += 1;
  EXPECT_TRUE(guard.CheckRoom().ok());
}

TEST(DiskGuardTest, DiskThatCannotBeAskedIsWrittenTo) {
  SmallDisk disk;
  disk.unknown = true;
  EXPECT_TRUE(DiskGuard("/data", 1000, disk).CheckRoom().ok());
}

TEST(DiskGuardTest, RealDiskHasSpace) {
  const absl::StatusOr<DiskSpace> space =
      PosixFileSystem().Space(std::filesystem::temp_directory_path());
  ASSERT_TRUE(space.ok()) << space.status();
  EXPECT_GT(space->total_bytes, 0);
  EXPECT_LE(space->free_bytes, space->total_bytes);
  EXPECT_TRUE(absl::IsNotFound(PosixFileSystem().Space("/no/such/folder").status()));
}

class DiskReserveTest : public ::testing::Test {
 protected:
  DiskReserveTest()
      : path_(std::filesystem::temp_directory_path() / absl::StrCat("mercer-reserve-", getpid())) {
    std::filesystem::remove(path_);
  }
  ~DiskReserveTest() override { std::filesystem::remove(path_); }

  SmallDisk disk_;
  const std::string path_;
};

TEST_F(DiskReserveTest, HoldsRoomUntilItIsReleased) {
  DiskReserve reserve(path_, disk_);
  EXPECT_FALSE(reserve.Release()) << "there is none yet";
  ASSERT_TRUE(reserve.Refill().ok());
  EXPECT_EQ(std::filesystem::file_size(path_), static_cast<uintmax_t>(DiskReserve::kBytes));
  ASSERT_TRUE(reserve.Refill().ok());
  EXPECT_TRUE(reserve.Release());
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(reserve.Release());
}

TEST_F(DiskReserveTest, LeavesTheLastOfTheDiskAlone) {
  DiskReserve reserve(path_, disk_);
  disk_.space.free_bytes = 2 * DiskReserve::kBytes - 1;
  EXPECT_EQ(GetReason(reserve.Refill()), "DISK_FULL");
  EXPECT_FALSE(std::filesystem::exists(path_));
  disk_.space.free_bytes += 1;
  EXPECT_TRUE(reserve.Refill().ok());
}

TEST_F(DiskReserveTest, HalfOfAReserveIsNone) {
  DiskReserve reserve(path_, disk_);
  disk_.full = true;
  EXPECT_EQ(GetReason(reserve.Refill()), "DISK_FULL");
  EXPECT_FALSE(std::filesystem::exists(path_));
  disk_.full = false;
  ASSERT_TRUE(PosixFileSystem().Create(path_).ok());  // as a crash would leave it
  EXPECT_TRUE(reserve.Refill().ok());
  EXPECT_EQ(std::filesystem::file_size(path_), static_cast<uintmax_t>(DiskReserve::kBytes));
}

}  // namespace
}  // namespace mercer::server
