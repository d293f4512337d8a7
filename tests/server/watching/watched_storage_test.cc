#include "server/watching/watched_storage.h"

#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

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

}  // namespace
}  // namespace mercer::server
