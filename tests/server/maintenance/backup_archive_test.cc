#include "server/backup/backup_archive.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/backup/backup_format.h"
#include "server/backup/tar.h"
#include "server/jobs/upkeep/blob_collector.h"
#include "tests/server/maintenance/stored_folder.h"

namespace mercer::server {
namespace {

class BackupArchiveTest : public StoredFolderTest {
 protected:
  bool CopyExists() const { return std::filesystem::exists(folder_ / "copy.db"); }
  // Name and content, in their order; no content of the manifest and the digest.
  static std::vector<std::pair<std::string, std::string>> FilesOf(const std::string& archive) {
    std::vector<std::pair<std::string, std::string>> files;
    std::istringstream input(archive);
    TarReader reader(input, kBackupDigest);
    while (true) {
      const auto file = reader.Next();
      EXPECT_TRUE(file.ok()) << file.status();
      if (!file.ok() || !file->has_value()) {
        return files;
      }
      std::string content(static_cast<size_t>((*file)->size), '\0');
      const auto read = reader.Read(content.data(), content.size());
      EXPECT_EQ(read.value_or(0), content.size());
      const bool timed = (*file)->name == kBackupManifest || (*file)->name == kBackupDigest;
      files.emplace_back((*file)->name, timed ? "" : content);
    }
  }
};

TEST_F(BackupArchiveTest, SizeOfThePiecesDoesNotMatter) {
  AddDataset("a", std::string(5000, 'a'));
  AddDataset("b", "");
  const std::string whole = MakeBackup(1 << 20);
  EXPECT_EQ(whole.size() % 512, 0u);
  const std::string pieces = MakeBackup(7);
  EXPECT_EQ(pieces.size(), whole.size());
  // The manifest tells the time, and the digest depends on it.
  const auto files = FilesOf(whole);
  EXPECT_THAT(files, ::testing::SizeIs(5));
  EXPECT_EQ(FilesOf(pieces), files);
}

TEST_F(BackupArchiveTest, WhatIsDeletedMeanwhileIsInTheBackup) {
  const std::string content(100'000, 'a');
  const std::string blob = AddDataset("a", content);
  auto archive = BackupArchive::Begin(Sources(), [] { return false; });
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_TRUE(CopyExists());
  EXPECT_EQ((*archive)->manifest().num_blobs, 1);
  ASSERT_TRUE(storage_->datasets().DeleteDataset("a").ok());
  EXPECT_EQ(*DeleteReleasedBlobs(*storage_, *blobs_, {blob}), 0);
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_), 0);
  const absl::StatusOr<std::string> bytes = ReadToEnd(**archive, 1000);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_NE(bytes->find(content), std::string::npos);
  archive->reset();
  EXPECT_FALSE(CopyExists());
  EXPECT_EQ(*CollectUnreferencedBlobs(*storage_, *blobs_), 1) << "nothing pins it any longer";
}

TEST_F(BackupArchiveTest, BrokenOffFreesEverything) {
  const std::string blob = AddDataset("a", std::string(100'000, 'a'));
  auto archive = BackupArchive::Begin(Sources(), [] { return false; });
  ASSERT_TRUE(archive.ok()) << archive.status();
  ASSERT_TRUE((*archive)->Next(1000).ok());
  archive->reset();
  EXPECT_FALSE(CopyExists());
  ASSERT_TRUE(storage_->datasets().DeleteDataset("a").ok());
  EXPECT_EQ(*DeleteReleasedBlobs(*storage_, *blobs_, {blob}), 1);
}

TEST_F(BackupArchiveTest, CancellationEndsTheCopyOfTheDatabase) {
  // A database that takes SQLite some hundred thousand steps to copy, and none of our blobs.
  for (int i = 0; i < 2000; ++i) {
    DatasetRecord dataset;
    dataset.id = absl::StrCat("data-", i);
    dataset.labels = {{"a", "b"}, {"c", "d"}};
    dataset.create_time = absl::FromUnixSeconds(1);
    storage_->datasets().CreateDataset(dataset, 0, [](const absl::StatusOr<DatasetRecord>&) {});
  }
  AddDataset("last", "content");
  int questions = 0;
  const auto cancelled = BackupArchive::Begin(Sources(), [&] { return ++questions == 2; });
  EXPECT_EQ(cancelled.status().code(), absl::StatusCode::kCancelled) << cancelled.status();
  EXPECT_EQ(questions, 2);
  EXPECT_FALSE(CopyExists());
}

TEST_F(BackupArchiveTest, LostBlobIsNamed) {
  const std::string blob = AddDataset("a", "content");
  std::filesystem::remove(folder_ / "data" / "blobs" / blob.substr(0, 2) / blob);
  const absl::Status status = BackupArchive::Begin(Sources(), [] { return false; }).status();
  EXPECT_EQ(GetReason(status), "BLOB_MISSING");
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(blob));
  EXPECT_FALSE(CopyExists());
}

TEST_F(BackupArchiveTest, ChangedBlobBreaksTheBackupOff) {
  const std::string blob = AddDataset("a", "content");
  std::ofstream(folder_ / "data" / "blobs" / blob.substr(0, 2) / blob) << "another";
  auto archive = BackupArchive::Begin(Sources(), [] { return false; });
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_EQ(GetReason(ReadToEnd(**archive, 1000).status()), "BLOB_DAMAGED");
}

}  // namespace
}  // namespace mercer::server
