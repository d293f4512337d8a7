// Restoring whole archives. An input is a list of edits of a good backup: of its files, of its database, or of its bytes.
// Whatever comes of it is restored as it says or refused, and what is refused leaves nothing behind.
#include "server/maintenance/restore.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "server/backup/backup_archive.h"
#include "server/backup/tar.h"
#include "server/digest/sha256.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/scratch_folder.h"

namespace mercer::fuzz {
namespace {

const absl::Time kTime = absl::FromUnixSeconds(1'700'000'000);

using Files = std::vector<std::pair<std::string, std::string>>;  // names and contents

const ScratchFolder& Folder() {
  static const ScratchFolder folder("restore");
  return folder;
}

std::unique_ptr<server::Storage> OpenStorage(const std::string& folder) {
  server::SqliteOptions options;
  options.folder = folder;
  options.num_readers = 1;
  auto storage = server::OpenSqliteStorage(options);
  return storage.ok() ? *std::move(storage) : nullptr;
}

// A backup of a folder with two data sets.
std::string MakeBackup() {
  Folder().Clear();
  std::filesystem::create_directories(Folder().PathOf("data"));
  const std::unique_ptr<server::Storage> storage = OpenStorage(Folder().PathOf("data"));
  auto blobs = server::OpenBlobStore(Folder().PathOf("data/blobs"));
  Require(storage != nullptr && blobs.ok(), "stores can be opened");
  for (const char* id : {"one", "two"}) {
    const auto blob = (*blobs)->Put(std::string("content of ") + id);
    Require(blob.ok(), "a blob is stored");
    server::DatasetRecord dataset;
    dataset.id = id;
    dataset.blob = blob->digest();
    dataset.size_bytes = blob->size();
    dataset.create_time = kTime;
    Require(storage->datasets().CreateDataset(dataset).ok(), "a data set is stored");
  }
  server::BackupSources sources;
  sources.storage = storage.get();
  sources.blobs = blobs->get();
  sources.database_copy = Folder().PathOf("copy.db");
  sources.code_version = "1.0.0";
  auto archive = server::BackupArchive::Begin(sources, [] { return false; });
  Require(archive.ok(), "a backup can be begun");
  std::string bytes;
  while (true) {
    const auto piece = (*archive)->Next(size_t{1} << 20);
    Require(piece.ok(), "a backup can be read");
    if (piece->empty()) {
      return bytes;
    }
    bytes += *piece;
  }
}

const std::string& GoodArchive() {
  static const auto& archive = *new std::string(MakeBackup());
  return archive;
}

// All but the digest at the end.
Files GoodFiles() {
  Files files;
  std::istringstream input(GoodArchive());
  server::TarReader reader(input, server::kBackupDigest);
  while (true) {
    const auto file = reader.Next();
    Require(file.ok() && file->has_value(), "a good archive has its digest at the end");
    if ((*file)->name == server::kBackupDigest) {
      return files;
    }
    std::string content(static_cast<size_t>((*file)->size), '\0');
    Require(reader.Read(content.data(), content.size()).ok(), "a good archive can be read");
    files.emplace_back((*file)->name, std::move(content));
  }
}

void Edit(Input& input, std::string& bytes) {
  const size_t position = input.Uint64() % (bytes.size() + 1);
  const uint8_t value = input.Byte();
  if (position < bytes.size()) {
    bytes[position] = static_cast<char>(value);
  } else {
    bytes.resize(bytes.size() * value / 256);
  }
}

void Edit(Input& input, Files& files) {
  const size_t kind = input.Choice(6);
  if (files.empty()) {
    return;
  }
  const size_t chosen = input.Choice(files.size());
  auto& [name, content] = files[chosen];
  if (kind == 0) {
    files.erase(files.begin() + static_cast<std::ptrdiff_t>(chosen));
  } else if (kind == 1) {
    files.push_back(files[chosen]);
  } else if (kind == 2) {
    std::swap(files[chosen], files[input.Choice(files.size())]);
  } else if (kind == 3) {
    name = std::string(input.Bytes(input.Choice(server::kMaxTarName)));
    std::replace(name.begin(), name.end(), '\0', '0');
  } else if (kind == 4) {
    // A blob under its right name that no row has, or a text in the place of one.
    content = std::string(input.Bytes(input.Choice(200)));
    name = chosen >= 2 ? server::BackupBlobName(server::Sha256Hex(content)) : name;
  } else {
    Edit(input, content);
  }
}

std::string ArchiveOf(const Files& files) {
  std::string archive;
  const auto append = [&](const std::string& name, const std::string& content) {
    const auto size = static_cast<int64_t>(content.size());
    archive += server::TarHeader(name, size, kTime) + content + server::TarPadding(size);
  };
  for (const auto& [name, content] : files) {
    append(name, content);
  }
  const std::string digest = server::Sha256Hex(archive);
  append(server::kBackupDigest, digest);
  return archive + server::TarEnd();
}

// All files below a folder together.
size_t BytesBelow(const std::string& folder) {
  size_t sum = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    sum += entry.is_regular_file() ? entry.file_size() : 0;
  }
  return sum;
}

void RequireRestored(const std::string& folder, const server::BackupManifest& manifest,
                     size_t archive_bytes) {
  Require(BytesBelow(folder) <= archive_bytes, "a restore writes no more than there is");
  auto blobs = server::OpenBlobStore(folder + "/blobs");
  Require(blobs.ok(), "the restored blobs can be opened");
  const auto digests = (*blobs)->List();
  Require(digests.ok() && static_cast<int64_t>(digests->size()) == manifest.num_blobs,
          "as many blobs are restored as the manifest says");
  for (const std::string& digest : *digests) {
    const auto content = (*blobs)->Read(digest);
    Require(content.ok(), "a restored blob has its content");
  }
  const std::unique_ptr<server::Storage> storage = OpenStorage(folder);
  if (storage != nullptr) {  // a database may be sound and not be ours
    const auto referenced = storage->ReferencedBlobs();
    Require(!referenced.ok() || *referenced == *digests, "what rows name is there");
  }
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  std::string archive = GoodArchive();
  if (input.Byte() % 4 != 0) {
    Files files = GoodFiles();
    for (size_t edits = 1 + input.Choice(3); edits > 0 && !input.empty(); --edits) {
      Edit(input, files);
    }
    archive = ArchiveOf(files);
  } else {
    while (!input.empty()) {
      Edit(input, archive);
    }
  }
  Folder().Clear();
  server::RestoreOptions options;
  options.archive = Folder().Write("backup.tar", archive);
  options.data_dir = Folder().PathOf("restored");
  const absl::StatusOr<server::BackupManifest> restored = server::RestoreBackup(options);
  if (restored.ok()) {
    return RequireRestored(options.data_dir, *restored, archive.size());
  }
  Require(archive != GoodArchive(), "a good archive is restored");
  RequireRefusal(restored.status(),
                 {absl::StatusCode::kDataLoss, absl::StatusCode::kFailedPrecondition});
  Require(std::filesystem::is_empty(options.data_dir), "a refused restore leaves nothing");
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = {std::string(1, '\0')};  // nothing is changed
  for (char kind = 0; kind < 6; ++kind) {
    for (char file = 0; file < 4; ++file) {
      std::string seed = {'\1', '\0', kind, file, '\x20'};
      seeds.push_back(seed + "blobs/00/0000000000000000000000000000000000");
    }
  }
  seeds.push_back(std::string("\0\x90\0\0\0\0\0\0\0\xff", 10));
  return seeds;
}

}  // namespace mercer::fuzz
