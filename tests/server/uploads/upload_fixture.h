// Uploads without a network, into stores in a folder of the test's own.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "server/uploads/dataset_context.h"
#include "tests/support/server/test_storage.h"

namespace mercer::server {

class UploadFolderTest : public testing::Test {
 protected:
  UploadFolderTest() : storage_(MakeTestStorage()) {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::temp_directory_path() /
        (std::string(test.test_suite_name()) + "_" + std::to_string(getpid()) + "_" + test.name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "uploads");
    auto blobs = OpenBlobStore(folder_ / "blobs");
    EXPECT_TRUE(blobs.ok()) << blobs.status();
    blobs_ = *std::move(blobs);
    context_.storage = storage_.get();
    context_.blobs = blobs_.get();
    context_.upload_folder = folder_ / "uploads";
  }
  ~UploadFolderTest() override { std::filesystem::remove_all(folder_); }

  // Below folder_/name.
  size_t FilesIn(const char* name) const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / name)) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<BlobStore> blobs_;
  DatasetContext context_;
};

}  // namespace mercer::server
