#include "core/base/memory/scratch_space.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer {
namespace {

class ScratchSpaceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "mercer-scratch-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  bool FolderIsEmpty() const { return std::filesystem::is_empty(folder_); }

  std::string folder_;
};

// A disk that has no room, or that lacks it only when bytes are written.
class FullSpace final : public ScratchSpace {
 public:
  FullSpace(const std::string& folder, int error) : ScratchSpace(folder, 0), error_(error) {}

 protected:
  int Allocate(int, size_t) const override { return error_; }

 private:
  const int error_;
};

std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>((i * 2654435761U) >> 13);
  }
  return bytes;
}

// More than may wait for the disk at a time, in pieces that are no pages.
TEST_F(ScratchSpaceTest, BytesAreReadAsTheyWereWritten) {
  const std::string bytes = Pattern((size_t{80} << 20) + 12345);
  const ScratchSpace space(folder_, 100);
  EXPECT_FALSE(space.Takes(100));
  EXPECT_TRUE(space.Takes(101));
  ScratchBytes kept;
  {
    absl::StatusOr<ScratchWriter> writer = space.Create(bytes.size());
    ASSERT_TRUE(writer.ok()) << writer.status();
    constexpr size_t kPiece = 1'000'003;
    for (size_t begin = 0; begin < bytes.size(); begin += kPiece) {
      const size_t size = std::min(kPiece, bytes.size() - begin);
      ASSERT_TRUE(writer->Append(bytes.data() + begin, size).ok());
      EXPECT_TRUE(FolderIsEmpty());
    }
    const absl::StatusOr<ScratchBytes> finished = writer->Finish();
    ASSERT_TRUE(finished.ok()) << finished.status();
    kept = *finished;
  }
  EXPECT_EQ(reinterpret_cast<uintptr_t>(kept.data) % 64, 0U);
  EXPECT_EQ(std::memcmp(kept.data, bytes.data(), bytes.size()), 0);
}

TEST_F(ScratchSpaceTest, MoreOrFewerBytesThanAnnouncedAreRefused) {
  const ScratchSpace space(folder_, 0);
  absl::StatusOr<ScratchWriter> writer = space.Create(10);
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_TRUE(absl::IsInternal(writer->Append("12345678901", 11)));
  ASSERT_TRUE(writer->Append("123456789", 9).ok());
  EXPECT_TRUE(absl::IsInternal(writer->Finish().status()));
}

TEST_F(ScratchSpaceTest, DiskWithoutRoomIsToldBeforeAnythingIsWritten) {
  for (const int error : {ENOSPC, EDQUOT}) {
    const absl::Status status = FullSpace(folder_, error).Create(1 << 20).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_EQ(GetReason(status), "DISK_FULL");
    EXPECT_TRUE(FolderIsEmpty());
  }
}

// A real refusal: no file of this process may be larger.
TEST_F(ScratchSpaceTest, DiskThatIsFullWhileBytesAreWrittenIsAnError) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1 << 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status reserved = ScratchSpace(folder_, 0).Create(3 << 20).status();
  absl::StatusOr<ScratchWriter> writer = FullSpace(folder_, 0).Create(3 << 20);
  absl::Status written = writer.status();
  const std::string bytes = Pattern(3 << 20);
  if (writer.ok()) {
    written = writer->Append(bytes.data(), bytes.size());
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(GetReason(reserved), "DISK_FULL") << reserved;
  EXPECT_EQ(GetReason(written), "DISK_FULL") << written;
  EXPECT_TRUE(FolderIsEmpty());
}

TEST_F(ScratchSpaceTest, FolderThatIsNotThereIsAnError) {
  const absl::Status status = ScratchSpace(folder_ + "/gone", 0).Create(10).status();
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_NE(status.message().find("gone"), std::string::npos) << status;
}

// The child has written half a file, and mapped another one, when it is killed.
TEST(IsDiskErrorTest, IsWhatMayBeOverLaterAndSaysNothingOfTheRun) {
  for (const char* reason : {"DISK_FULL", "STORAGE_READ_ONLY"}) {
    EXPECT_TRUE(IsDiskError(WithReason(absl::ResourceExhaustedError("x"), reason))) << reason;
    EXPECT_TRUE(IsDiskError(WithReason(absl::FailedPreconditionError("x"), reason))) << reason;
  }
  EXPECT_TRUE(IsDiskError(WithReason(absl::UnavailableError("x"), "TOO_MANY_FILES")));
  for (const absl::Status& other :
       {absl::OkStatus(), absl::InternalError("x"), absl::CancelledError(),
        WithReason(absl::ResourceExhaustedError("x"), "OUT_OF_MEMORY"),
        WithReason(absl::FailedPreconditionError("x"), "NO_MODEL")}) {
    EXPECT_FALSE(IsDiskError(other)) << other;
  }
}

TEST_F(ScratchSpaceTest, KilledProcessLeavesNothing) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const ScratchSpace space(folder_, 0);
    const std::string bytes = Pattern(8 << 20);
    absl::StatusOr<ScratchWriter> whole = space.Create(bytes.size());
    absl::StatusOr<ScratchWriter> half = space.Create(2 * bytes.size());
    const bool written = whole.ok() && half.ok() &&
                         whole->Append(bytes.data(), bytes.size()).ok() &&
                         half->Append(bytes.data(), bytes.size()).ok();
    const absl::StatusOr<ScratchBytes> kept =
        written ? whole->Finish() : absl::InternalError("not written");
    const char done = kept.ok() ? 'y' : 'n';
    if (write(channel[1], &done, 1) == 1) {
      pause();
    }
    _exit(1);
  }
  char done = 0;
  ASSERT_EQ(read(channel[0], &done, 1), 1);
  EXPECT_EQ(done, 'y');
  EXPECT_TRUE(FolderIsEmpty());
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(FolderIsEmpty());
  close(channel[0]);
  close(channel[1]);
}

}  // namespace
}  // namespace mercer
