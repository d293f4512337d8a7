// Stored files whose content is no longer what their name says, and folders that hold what does not belong there. The
// first line is the name of a foreign file, then come edits of a blob: position and byte.
#include "server/blobs/blob_store.h"

#include <filesystem>
#include <string>

#include "core/base/status/errors.h"
#include "server/digest/sha256.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/scratch_folder.h"

namespace mercer::fuzz {
namespace {

constexpr size_t kBlobBytes = 100;

const ScratchFolder& Folder() {
  static const ScratchFolder folder("blob_store");
  return folder;
}

std::unique_ptr<server::BlobStore> Open() {
  absl::StatusOr<std::unique_ptr<server::BlobStore>> blobs =
      server::OpenBlobStore(Folder().PathOf("blobs"));
  Require(blobs.ok(), "a blob store can be opened");
  return *std::move(blobs);
}

std::string Damaged(std::string content, Input& input) {
  while (!input.empty()) {
    const size_t position = input.Byte();
    const char value = static_cast<char>(input.Byte());
    if (position < content.size()) {
      content[position] = value;
    } else if (position > 200) {
      content.resize(position - 200);
    } else {
      content.push_back(value);
    }
  }
  return content;
}

void AddForeignFile(std::string_view name) {
  const std::string text(name.substr(0, 100));
  if (text.find('/') == std::string::npos && text.find('\0') == std::string::npos &&
      text.find("..") == std::string::npos && !text.empty() && text != ".") {
    Folder().Write("blobs/" + text, "foreign");
  }
}

void CheckRead(server::BlobStore& blobs, const std::string& digest) {
  const auto file = blobs.Read(digest);
  if (file.ok()) {
    Require(server::Sha256Hex((*file)->contents()) == digest, "a blob has the content of its name");
    Require(blobs.VerifiedPath(digest).ok(), "a blob that can be read is verified");
    return;
  }
  RequireRefusal(file.status(),
                 {absl::StatusCode::kDataLoss, absl::StatusCode::kNotFound,
                  absl::StatusCode::kInvalidArgument},
                 absl::IsDataLoss(file.status()));
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  Folder().Clear();
  std::string digest;
  {
    const auto blob = Open()->Put(std::string(kBlobBytes, 'b'));
    Require(blob.ok(), "a blob is stored");
    digest = blob->digest();
  }
  const std::string_view name = input.Line();
  AddForeignFile(name);
  Folder().Write("blobs/" + digest.substr(0, 2) + "/" + digest,
                 Damaged(std::string(kBlobBytes, 'b'), input));
  const std::unique_ptr<server::BlobStore> blobs = Open();
  CheckRead(*blobs, digest);
  CheckRead(*blobs, std::string(name));
  const auto list = blobs->List();
  if (!list.ok()) {
    RequireRefusal(list.status(), {absl::StatusCode::kInternal}, false);
    return;
  }
  for (const std::string& found : *list) {
    CheckRead(*blobs, found);
  }
  Require(blobs->DeleteIf(digest, [] { return absl::StatusOr<bool>(true); }).ok(),
          "a damaged blob can be deleted");
}

std::vector<std::string> Seeds() {
  return {"\n", "temporary\n\x05x", server::Sha256Hex("foreign") + "\n\xff", "ab\n\x64y\x65z"};
}

}  // namespace mercer::fuzz
