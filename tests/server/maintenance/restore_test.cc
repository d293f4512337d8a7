#include "server/maintenance/restore.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "server/backup/tar.h"
#include "server/digest/sha256.h"
#include "tests/server/maintenance/stored_folder.h"

namespace mercer::server {
namespace {

using ::testing::HasSubstr;

class RestoreTest : public StoredFolderTest {
 protected:
  absl::StatusOr<BackupManifest> Restore(const std::string& archive) {
    std::ofstream(folder_ / "archive", std::ios::binary) << archive;
    RestoreOptions options;
    options.archive = folder_ / "archive";
    options.data_dir = folder_ / "restored";
    return RestoreBackup(options);
  }
  // Nothing of the archive has stayed, there or elsewhere.
  void ExpectNothingLeft() const {
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "restored"));
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    EXPECT_THAT(names, ::testing::UnorderedElementsAre("archive", "data", "restored"));
  }
  void ExpectRefused(const std::string& archive, const std::string& what) {
    SCOPED_TRACE(what);
    const absl::Status status = Restore(archive).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_EQ(GetReason(status), "BACKUP_DAMAGED") << status;
    ExpectNothingLeft();
  }

  // The archive of MakeBackup() with other files, and the right digest at its end.
  std::string Rewrite(
      const std::function<void(std::vector<std::pair<std::string, std::string>>&)>& change) {
    std::istringstream input(MakeBackup());
    TarReader reader(input, kBackupDigest);
    std::vector<std::pair<std::string, std::string>> files;
    while (true) {
      const auto file = reader.Next();
      EXPECT_TRUE(file.ok()) << file.status();
      if (!file.ok() || !file->has_value() || (*file)->name == kBackupDigest) {
        break;
      }
      std::string content(static_cast<size_t>((*file)->size), '\0');
      EXPECT_TRUE(reader.Read(content.data(), content.size()).ok());
      files.emplace_back((*file)->name, content);
    }
    change(files);
    std::string archive;
    for (const auto& [name, content] : files) {
      archive += FileBytes(name, content);
    }
    return absl::StrCat(archive, FileBytes(kBackupDigest, Sha256Hex(archive) + "\n"), TarEnd());
  }
  static std::string FileBytes(const std::string& name, const std::string& content) {
    const auto size = static_cast<int64_t>(content.size());
    return absl::StrCat(TarHeader(name, size, absl::FromUnixSeconds(1)), content, TarPadding(size));
  }
};

TEST_F(RestoreTest, FolderHoldsWhatTheBackupSaw) {
  const std::string a = AddDataset("a", std::string(5000, 'a'));
  const std::string b = AddDataset("b", "");
  const std::string archive = MakeBackup();
  AddDataset("later", "later");
  const absl::StatusOr<BackupManifest> restored = Restore(archive);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->num_blobs, 2);
  EXPECT_EQ(restored->blob_bytes, 5000);
  EXPECT_EQ(restored->code_version, "1.2.3");
  SqliteOptions options;
  options.folder = folder_ / "restored";
  const auto storage = OpenSqliteStorage(options);
  ASSERT_TRUE(storage.ok()) << storage.status();
  EXPECT_EQ((*storage)->datasets().GetDataset("a")->blob, a);
  EXPECT_TRUE(absl::IsNotFound((*storage)->datasets().GetDataset("later").status()));
  const auto blobs = OpenBlobStore(folder_ / "restored" / "blobs");
  ASSERT_TRUE(blobs.ok()) << blobs.status();
  EXPECT_EQ((*(*blobs)->Read(a))->contents(), std::string(5000, 'a'));
  EXPECT_EQ((*(*blobs)->Read(b))->contents(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "restored" / kUnfinishedRestore));
}

TEST_F(RestoreTest, CutArchiveIsRefused) {
  AddDataset("a", std::string(5000, 'a'));
  const std::string archive = MakeBackup();
  for (size_t left = 0; left < archive.size(); left += archive.size() / 61) {
    ExpectRefused(archive.substr(0, left), absl::StrCat("cut to ", left));
  }
  ExpectRefused(archive.substr(0, archive.size() - 1), "without its last byte");
  ExpectRefused(archive.substr(0, archive.size() - 1024), "without its end");
}

TEST_F(RestoreTest, ChangedByteIsRefused) {
  AddDataset("a", std::string(5000, 'a'));
  const std::string archive = MakeBackup();
  RandomStream random(7, "changed bytes");
  for (int i = 0; i < 60; ++i) {
    std::string changed = archive;
    const auto place = static_cast<size_t>(random.Uniform() * static_cast<double>(archive.size()));
    changed[place] = static_cast<char>(changed[place] ^ 1);
    SCOPED_TRACE(absl::StrCat("byte ", place));
    const absl::Status status = Restore(changed).status();
    EXPECT_FALSE(status.ok());
    ExpectNothingLeft();
  }
}

TEST_F(RestoreTest, FolderThatIsNotEmptyIsRefusedAndStays) {
  AddDataset("a", "content");
  const std::string archive = MakeBackup();
  std::filesystem::create_directories(folder_ / "restored");
  std::ofstream(folder_ / "restored" / "mine") << "mine";
  EXPECT_EQ(GetReason(Restore(archive).status()), "RESTORE_FOLDER_NOT_EMPTY");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "restored" / "mine"));
  std::filesystem::remove(folder_ / "restored" / "mine");
  std::filesystem::create_directory(folder_ / "restored" / "lost+found");
  EXPECT_TRUE(Restore(archive).ok()) << "the top folder of a disk is as good as empty";
}

TEST_F(RestoreTest, NamesOutsideTheListAreRefused) {
  const std::string digest = AddDataset("a", "content");
  const std::string other = Sha256Hex("other");
  for (const std::string& name :
       {std::string("../outside"), std::string("/tmp/mercer-outside"),
        std::string("blobs/../../outside"), "blobs/" + digest, "blobs/00/" + digest,
        "blobs/" + digest.substr(0, 2) + "/../" + digest, std::string("lock"),
        std::string("mercer.db"), std::string("MANIFEST"), std::string("blobs/tmp/1"),
        std::string("")}) {
    ExpectRefused(Rewrite([&](auto& files) { files.emplace_back(name, "content"); }), name);
  }
  ExpectRefused(Rewrite([&](auto& files) { files.back().first = BackupBlobName(other); }),
                "the content of another name");
  ExpectRefused(Rewrite([&](auto& files) { files.push_back(files.back()); }), "a file twice");
}

TEST_F(RestoreTest, ArchiveThatDoesNotFitItsDatabaseIsRefused) {
  AddDataset("a", "content");
  EXPECT_TRUE(Restore(Rewrite([](auto&) {})).ok()) << "what the others change is sound";
  std::filesystem::remove_all(folder_ / "restored");
  ExpectRefused(Rewrite([](auto& files) { files.pop_back(); }), "a file too few");
  ExpectRefused(
      Rewrite([](auto& files) { files.emplace_back(BackupBlobName(Sha256Hex("more")), "more"); }),
      "a file too many");
  ExpectRefused(Rewrite([](auto& files) { files[1].second = "no database"; }), "no database");
  ExpectRefused(Rewrite([](auto& files) { files.erase(files.begin()); }), "no manifest");
  ExpectRefused(Rewrite([](auto& files) { files[0].second = "hello"; }), "another manifest");
}

TEST_F(RestoreTest, NewerFormatIsRefused) {
  AddDataset("a", "content");
  const std::string archive = Rewrite([](auto& files) {
    files[0].second.replace(0, std::string("mercer-backup 1").size(), "mercer-backup 2");
  });
  const absl::Status status = Restore(archive).status();
  EXPECT_EQ(GetReason(status), "NEWER_FORMAT");
  ExpectNothingLeft();
}

TEST_F(RestoreTest, MissingArchiveIsRefused) {
  RestoreOptions options;
  options.archive = folder_ / "nothing";
  options.data_dir = folder_ / "restored";
  const absl::Status status = RestoreBackup(options).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("nothing"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "restored"));
}

}  // namespace
}  // namespace mercer::server
