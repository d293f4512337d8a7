#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/blobs/file_system.h"

namespace mercer::server {
namespace {

// Whoever is told so tries again, and does not give up what needs the file.
TEST(PosixFileSystemTest, LackOfFileHandlesPasses) {
  const std::string path =
      std::filesystem::temp_directory_path() / absl::StrCat("mercer-handles-", getpid());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status refused = PosixFileSystem().Create(path).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
  EXPECT_EQ(GetReason(refused), "TOO_MANY_FILES");
  EXPECT_TRUE(PosixFileSystem().Create(path).ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace mercer::server
