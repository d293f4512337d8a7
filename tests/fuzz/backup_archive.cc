// Archives of backups: their tar form, and the manifest in them.
#include <algorithm>
#include <optional>
#include <sstream>
#include <string>

#include "server/backup/backup_format.h"
#include "server/backup/tar.h"
#include "server/digest/sha256.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"

namespace mercer::fuzz {
namespace {

constexpr size_t kBlock = size_t{server::kTarBlockBytes};
constexpr size_t kChecksumAt = 148;
constexpr size_t kMagicAt = 257;

// Puts right the checksum of every block that looks like a header: mutation would not guess it.
std::string Sealed(std::string archive) {
  for (size_t at = 0; at + kBlock <= archive.size(); at += kBlock) {
    if (archive.compare(at + kMagicAt, 5, "ustar") != 0) {
      continue;
    }
    archive.replace(at + kChecksumAt, 8, "        ");
    int sum = 0;
    for (size_t i = at; i < at + kBlock; ++i) {
      sum += static_cast<unsigned char>(archive[i]);
    }
    for (size_t digit = 6; digit-- > 0; sum /= 8) {
      archive[at + kChecksumAt + digit] = static_cast<char>('0' + sum % 8);
    }
    archive[at + kChecksumAt + 6] = '\0';
  }
  return archive;
}

// All bytes of the file that Next() has answered, read in pieces of `piece` bytes.
absl::StatusOr<std::string> Content(server::TarReader& reader, size_t piece) {
  std::string content;
  std::string buffer(piece, '\0');
  while (true) {
    const absl::StatusOr<size_t> size = reader.Read(buffer.data(), buffer.size());
    if (!size.ok()) {
      return size.status();
    }
    if (*size == 0) {
      return content;
    }
    content.append(buffer, 0, *size);
  }
}

void CheckManifest(const std::string& text) {
  const absl::StatusOr<server::BackupManifest> manifest = server::DecodeManifest(text);
  if (!manifest.ok()) {
    return RequireRefusal(manifest.status(),
                          {absl::StatusCode::kDataLoss, absl::StatusCode::kFailedPrecondition});
  }
  Require(manifest->num_blobs >= 0 && manifest->blob_bytes >= 0, "a manifest counts");
}

// The digest of the archive, "none" when no file speaks of one; nothing when the archive is refused.
std::optional<std::string> ReadAll(const std::string& archive, size_t piece, bool skips) {
  std::istringstream input(archive);
  server::TarReader reader(input, server::kBackupDigest);
  size_t total = 0;
  std::string digest;
  while (true) {
    const absl::StatusOr<std::optional<server::TarFile>> file = reader.Next();
    if (!file.ok()) {
      RequireRefusal(file.status(), {absl::StatusCode::kDataLoss});
      return std::nullopt;
    }
    if (digest.empty() && !reader.digest().empty()) {
      // The header of the file that says it is the last block that was read.
      digest = reader.digest();
      const auto before = static_cast<size_t>(input.tellg()) - kBlock;
      Require(digest == server::Sha256Hex(archive.substr(0, before)),
              "the digest is that of all bytes before its file");
    }
    if (!file->has_value()) {
      Require(total <= archive.size(), "files are no larger than their archive");
      return digest.empty() ? std::string("none") : digest;
    }
    Require((*file)->size >= 0, "a file has a size");
    if (skips) {
      continue;
    }
    const absl::StatusOr<std::string> content = Content(reader, piece);
    if (!content.ok()) {
      RequireRefusal(content.status(), {absl::StatusCode::kDataLoss});
      return std::nullopt;
    }
    Require(static_cast<int64_t>(content->size()) == (*file)->size, "a file has its size");
    total += content->size();
    if ((*file)->name == server::kBackupManifest) {
      CheckManifest(*content);
    }
    const std::string blob = server::DigestOfBackupBlob((*file)->name);
    Require(blob.empty() || server::BackupBlobName(blob) == (*file)->name, "a blob has one name");
  }
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  const bool sealed = input.Choice(4) != 0;
  const std::string archive =
      sealed ? Sealed(std::string(input.rest())) : std::string(input.rest());
  const std::optional<std::string> whole = ReadAll(archive, 4096, false);
  Require(ReadAll(archive, 7, false) == whole, "an archive says the same in pieces of any size");
  Require(ReadAll(archive, 1, true) == whole, "what is skipped is read all the same");
  CheckManifest(std::string(input.rest()));
}

std::vector<std::string> Seeds() {
  const absl::Time time = absl::FromUnixSeconds(1'700'000'000);
  const auto file = [&](const std::string& name, const std::string& content) {
    const auto size = static_cast<int64_t>(content.size());
    return server::TarHeader(name, size, time) + content + server::TarPadding(size);
  };
  server::BackupManifest manifest;
  manifest.code_version = "1.0.0";
  manifest.time = time;
  manifest.num_blobs = 1;
  manifest.blob_bytes = 4;
  const std::string text = server::EncodeManifest(manifest);
  std::string archive = file(server::kBackupManifest, text) +
                        file(server::kBackupDatabase, std::string(600, 'd')) +
                        file(server::BackupBlobName(server::Sha256Hex("blob")), "blob");
  archive += file(server::kBackupDigest, server::Sha256Hex(archive));
  archive += server::TarEnd();
  const std::string large = server::TarHeader("large", int64_t{9} << 30, time) + "cut off";
  return {"\x01" + archive, "\x01" + large, "\x01" + text};
}

}  // namespace mercer::fuzz
