#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/blobs/file_system.h"
#include "tests/support/server/real_file_system.h"

namespace mercer::server {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Remembers what is put on the disk.
class SyncedFolders final : public RealFileSystem {
 public:
  std::vector<std::string> synced;

  absl::Status SyncFolder(const std::string& path) override {
    synced.push_back(path);
    return RealFileSystem::SyncFolder(path);
  }
};

class MakeFoldersTest : public testing::Test {
 protected:
  MakeFoldersTest() { std::filesystem::create_directories(root_); }
  ~MakeFoldersTest() override { std::filesystem::remove_all(root_); }

  const std::string root_ =
      std::filesystem::temp_directory_path() / ("make_folders." + std::to_string(getpid()));
  SyncedFolders files_;
};

TEST_F(MakeFoldersTest, PutsTheNameOfEveryNewFolderOnTheDisk) {
  EXPECT_FALSE(MakeFolders(root_ + "/a/b/c", files_));
  EXPECT_TRUE(std::filesystem::is_directory(root_ + "/a/b/c"));
  EXPECT_THAT(files_.synced, UnorderedElementsAre(root_, root_ + "/a", root_ + "/a/b"));
}

TEST_F(MakeFoldersTest, SlashAtTheEndIsNoFolder) {
  EXPECT_FALSE(MakeFolders(root_ + "/data/", files_));
  EXPECT_THAT(files_.synced, UnorderedElementsAre(root_));
}

TEST_F(MakeFoldersTest, LeavesWhatIsThere) {
  EXPECT_FALSE(MakeFolders(root_, files_));
  EXPECT_THAT(files_.synced, IsEmpty());
}

}  // namespace
}  // namespace mercer::server
