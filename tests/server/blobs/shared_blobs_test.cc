// Two processes on one folder of blobs: neither deletes what the other one is about to need. A flock is that of an open file, so
// that two stores of one process stand for them.
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/blobs/blob_store.h"
#include "server/blobs/owned_folder.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SharedBlobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              absl::StrCat("mercer-shared-blobs-", getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    one_ = Open();
    other_ = Open();
  }
  void TearDown() override {
    one_.reset();
    other_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::unique_ptr<BlobStore> Open() {
    auto store = OpenBlobStore(folder_);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  static absl::StatusOr<bool> Unreferenced() { return true; }

  std::string folder_;
  std::unique_ptr<BlobStore> one_;
  std::unique_ptr<BlobStore> other_;
};

TEST_F(SharedBlobsTest, TemporaryFilesOfTheLivingStay) {
  auto writer = one_->NewBlob();
  auto same_time = other_->NewBlob();
  ASSERT_TRUE(writer.ok() && same_time.ok());
  ASSERT_TRUE((*writer)->Append("content").ok());
  ASSERT_TRUE((*same_time)->Append("another content").ok());
  const std::unique_ptr<BlobStore> third = Open();
  const auto blob = (*writer)->Commit();
  ASSERT_TRUE(blob.ok()) << blob.status();
  EXPECT_EQ((*third->Read(blob->digest()))->contents(), "content");
  EXPECT_TRUE((*same_time)->Commit().ok());
}

TEST_F(SharedBlobsTest, TemporaryFilesOfTheDeadGoAtAStart) {
  one_.reset();
  other_.reset();
  for (const char* name :
       {"1/7", "2/8", "2/pin-x", "9"}) {  // the last one of before there were owners
    std::ofstream(absl::StrCat(folder_, "/tmp/", name)) << "half";
  }
  one_ = Open();
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ + "/tmp")) {
    if (entry.is_regular_file()) {
      files.push_back(entry.path());
    }
  }
  EXPECT_THAT(files, IsEmpty());
}

TEST_F(SharedBlobsTest, BlobThatAnotherOnePinsStays) {
  auto blob = one_->Put("content");
  ASSERT_TRUE(blob.ok());
  const std::string digest = blob->digest();
  EXPECT_FALSE(*other_->DeleteIf(digest, Unreferenced));
  *blob = PinnedBlob();
  auto again = one_->Pin(digest);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(*other_->DeleteIf(digest, Unreferenced));
  EXPECT_TRUE(one_->Read(digest).ok());
  *again = PinnedBlob();
  EXPECT_TRUE(*other_->DeleteIf(digest, Unreferenced));
  EXPECT_EQ(one_->Pin(digest).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SharedBlobsTest, AnotherOneHoldsAllDeletions) {
  const std::string digest = one_->Put("content")->digest();
  std::shared_ptr<void> hold = *one_->HoldDeletions();
  EXPECT_FALSE(*other_->DeleteIf(digest, Unreferenced));
  hold.reset();
  EXPECT_TRUE(*other_->DeleteIf(digest, Unreferenced));
}

TEST_F(SharedBlobsTest, PinsOfTheDeadGoWithTheirFolder) {
  const std::string digest = other_->Put("content")->digest();
  auto pin = one_->Pin(digest);
  ASSERT_TRUE(pin.ok());
  std::filesystem::copy(folder_ + "/tmp/1", folder_ + "/kept");  // what a kill leaves
  *pin = PinnedBlob();
  one_.reset();
  std::filesystem::copy(folder_ + "/kept", folder_ + "/tmp/1");
  std::filesystem::remove_all(folder_ + "/kept");
  EXPECT_FALSE(*other_->DeleteIf(digest, Unreferenced)) << "nobody knows yet that it is dead";
  one_ = Open();
  EXPECT_TRUE(*other_->DeleteIf(digest, Unreferenced));
}

// Between the look at the rows and the deletion another process stores the same content and its row.
TEST_F(SharedBlobsTest, BlobThatGetsItsRowMeanwhileIsPutBack) {
  const std::string digest = one_->Put("content")->digest();
  int asked = 0;
  const auto deleted = one_->DeleteIf(digest, [&]() -> absl::StatusOr<bool> {
    if (++asked == 1) {
      EXPECT_TRUE(other_->Put("content").ok());  // and its row, so that the pin has gone
      return true;
    }
    EXPECT_FALSE(other_->Read(digest).ok()) << "it is out of the way by now";
    return false;
  });
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_FALSE(*deleted);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ((*other_->Read(digest))->contents(), "content");
}

TEST_F(SharedBlobsTest, WhoeverIsAloneAsksOnce) {
  other_.reset();
  one_.reset();
  std::filesystem::remove_all(folder_ + "/tmp/2");
  one_ = Open();
  const std::string digest = one_->Put("content")->digest();
  int asked = 0;
  EXPECT_TRUE(*one_->DeleteIf(digest, [&]() -> absl::StatusOr<bool> { return ++asked > 0; }));
  EXPECT_EQ(asked, 1);
}

TEST_F(SharedBlobsTest, FoldersAreTakenFromTheFirst) {
  const std::string parent = folder_ + "/own";
  std::filesystem::create_directories(parent);
  std::vector<std::string> inherited;
  const auto take = [&] {
    inherited.clear();
    return *OwnedFolder::Take(PosixFileSystem(), parent,
                              [&](const std::string& left, const OwnedFolder&) {
                                inherited.push_back(left);
                                return absl::OkStatus();
                              });
  };
  std::shared_ptr<OwnedFolder> a = take();
  std::shared_ptr<OwnedFolder> b = take();
  std::shared_ptr<OwnedFolder> c = take();
  EXPECT_EQ(a->path(), parent + "/1");
  EXPECT_EQ(c->path(), parent + "/3");
  EXPECT_THAT(*b->Others(), ElementsAre(parent + "/1", parent + "/3"));
  EXPECT_THAT(inherited, IsEmpty());
  a.reset();
  c.reset();
  a = take();
  EXPECT_EQ(a->path(), parent + "/1");
  EXPECT_THAT(inherited, ElementsAre(parent + "/3"));
}

}  // namespace
}  // namespace mercer::server
