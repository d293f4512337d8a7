// Whose are the files in the folder of unfinished uploads.
#include "server/app/process/data_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DataFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              absl::StrCat("mercer-data-folder-", getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name) { std::ofstream(folder_ + "/" + name) << name; }
  std::vector<std::string> FilesIn(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.is_regular_file()) {
        names.push_back(entry.path().filename());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string folder_;
};

TEST_F(DataFolderTest, UploadsOfAServerThatKnewNoOwnersAreTakenUp) {
  Write("r-u@.0");
  Write("r-u@.journal");
  const auto own = TakeUploadFolder(folder_);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_THAT(FilesIn((*own)->path()), ElementsAre("r-u@.0", "r-u@.journal"));
  EXPECT_THAT(FilesIn(folder_), IsEmpty());
}

TEST_F(DataFolderTest, UploadsOfTheDeadAreTakenUpAndThoseOfTheLivingStay) {
  auto one = *TakeUploadFolder(folder_);
  auto other = *TakeUploadFolder(folder_);
  auto third = *TakeUploadFolder(folder_);
  Write("1/r-a@.journal");
  Write("2/r-b@.journal");
  Write("3/r-c@.0");
  Write("3/r-c@.journal");
  one.reset();
  third.reset();
  one = *TakeUploadFolder(folder_);
  EXPECT_EQ(one->path(), folder_ + "/1");
  EXPECT_THAT(FilesIn(one->path()), ElementsAre("r-a@.journal", "r-c@.0", "r-c@.journal"));
  EXPECT_THAT(FilesIn(other->path()), ElementsAre("r-b@.journal"));
  EXPECT_THAT(FilesIn(folder_ + "/3"), IsEmpty());
}

// Neither is mixed with the other one's bytes.
TEST_F(DataFolderTest, OfTwoUploadsWithOneIdTheOwnStays) {
  {
    const auto one = *TakeUploadFolder(folder_);
    const auto other = *TakeUploadFolder(folder_);
  }
  Write("1/r-a@.journal");
  Write("2/r-a@.0");
  Write("2/r-a@.journal");
  const auto own = *TakeUploadFolder(folder_);
  EXPECT_THAT(FilesIn(own->path()), ElementsAre("r-a@.journal"));
  std::ifstream file(own->path() + "/r-a@.journal");
  std::string content;
  file >> content;
  EXPECT_EQ(content, "1/r-a@.journal");
  EXPECT_THAT(FilesIn(folder_ + "/2"), IsEmpty());
}

TEST_F(DataFolderTest, CopiesOfTheDeadGoAndThoseOfTheLivingStay) {
  Write("mercer.db");
  const auto one = *TakeEmptyFolder(folder_);
  Write("1/mercer.db");
  const auto other = *TakeEmptyFolder(folder_);
  EXPECT_NE(other->path(), one->path());
  EXPECT_THAT(FilesIn(one->path()), ElementsAre("mercer.db"));
  EXPECT_THAT(FilesIn(folder_), IsEmpty());
}

}  // namespace
}  // namespace mercer::server
