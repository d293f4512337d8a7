#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/app/process/data_folder.h"
#include "tests/support/server/real_file_system.h"

namespace mercer::server {
namespace {

// A disk with room for names but for no content.
class FullDisk final : public RealFileSystem {
 public:
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    auto file = PosixFileSystem().Create(path);
    if (!file.ok()) {
      return file.status();
    }
    return std::make_unique<File>(*std::move(file));
  }

 private:
  class File final : public WritableFile {
   public:
    explicit File(std::unique_ptr<WritableFile> real) : real_(std::move(real)) {}
    absl::Status Append(std::string_view /*bytes*/) override {
      return WithReason(absl::ResourceExhaustedError("No space left on device"), "DISK_FULL");
    }
    absl::Status Sync() override { return real_->Sync(); }
    absl::Status Close() override { return real_->Close(); }

   private:
    const std::unique_ptr<WritableFile> real_;
  };
};

class PortFileTest : public ::testing::Test {
 protected:
  PortFileTest()
      : path_(std::filesystem::temp_directory_path() /
              absl::StrCat("mercer_port_", getpid(), "_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~PortFileTest() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".new");
  }
  std::string Content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  const std::string path_;
};

TEST_F(PortFileTest, HoldsThePortUntilItIsRemoved) {
  ASSERT_TRUE(WritePortFile(PosixFileSystem(), path_, 50051).ok());
  EXPECT_EQ(Content(), "50051\n");
  ASSERT_TRUE(WritePortFile(PosixFileSystem(), path_, 7).ok());
  EXPECT_EQ(Content(), "7\n");
  ASSERT_TRUE(RemovePortFile(PosixFileSystem(), path_).ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(RemovePortFile(PosixFileSystem(), path_).ok()) << "there is none";
}

TEST_F(PortFileTest, FullDiskLeavesNoEmptyFile) {
  FullDisk disk;
  EXPECT_EQ(GetReason(WritePortFile(disk, path_, 50051)), "DISK_FULL");
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(WritePortFile(PosixFileSystem(), path_, 50051).ok()) << "when there is room again";
  EXPECT_EQ(Content(), "50051\n");
}

}  // namespace
}  // namespace mercer::server
