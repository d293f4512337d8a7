// A data folder with some data sets, without a server, and backups of it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "server/backup/backup_archive.h"
#include "server/blobs/blob_store.h"
#include "server/storage/sqlite/sqlite_storage.h"

namespace mercer::server {

class StoredFolderTest : public ::testing::Test {
 protected:
  StoredFolderTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              absl::StrCat("mercer-stored-", getpid(), "-", info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "data");
    Open();
  }
  ~StoredFolderTest() override {
    storage_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Open() {
    SqliteOptions options;
    options.folder = folder_ / "data";
    auto storage = OpenSqliteStorage(options);
    ASSERT_TRUE(storage.ok()) << storage.status();
    storage_ = *std::move(storage);
    auto blobs = OpenBlobStore(folder_ / "data" / "blobs");
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    blobs_ = *std::move(blobs);
  }

  // Stores a data set with this content; answers its blob.
  std::string AddDataset(const std::string& id, const std::string& content) {
    const auto blob = blobs_->Put(content);
    EXPECT_TRUE(blob.ok()) << blob.status();
    DatasetRecord dataset;
    dataset.id = id;
    dataset.blob = blob->digest();
    dataset.size_bytes = blob->size();
    dataset.create_time = absl::FromUnixSeconds(1);
    EXPECT_TRUE(storage_->datasets().CreateDataset(dataset).ok());
    return blob->digest();
  }

  BackupSources Sources() {
    BackupSources sources;
    sources.storage = storage_.get();
    sources.blobs = blobs_.get();
    sources.code_version = "1.2.3";
    sources.database_copy = folder_ / "copy.db";
    return sources;
  }

  static absl::StatusOr<std::string> ReadToEnd(BackupArchive& archive, size_t piece_bytes) {
    std::string bytes;
    while (true) {
      const absl::StatusOr<std::string> piece = archive.Next(piece_bytes);
      if (!piece.ok()) {
        return piece.status();
      }
      EXPECT_LE(piece->size(), piece_bytes);
      if (piece->empty()) {
        return bytes;
      }
      bytes += *piece;
    }
  }

  std::string MakeBackup(size_t piece_bytes = 1000) {
    const auto archive = BackupArchive::Begin(Sources(), [] { return false; });
    EXPECT_TRUE(archive.ok()) << archive.status();
    const absl::StatusOr<std::string> bytes = ReadToEnd(**archive, piece_bytes);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return *bytes;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<BlobStore> blobs_;
};

}  // namespace mercer::server
