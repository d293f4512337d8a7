// Journals of unfinished uploads, as a crash or a damaged disk leaves them.
#include "server/uploads/upload_journal.h"

#include <string>

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/crc32c.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/scratch_folder.h"

namespace mercer::fuzz {
namespace {

constexpr size_t kVouchedBytes = 24;  // of a record

// A journal whose checksums are right, whatever else it says.
std::string Sealed(Input input) {
  const uint64_t version = 1 + input.Choice(2);
  std::string beginning(input.Bytes(input.Byte()));
  if (version == 2) {
    ByteWriter caller_size;
    caller_size.WriteUint64(input.Choice(beginning.size() + 1));
    beginning = std::string(caller_size.bytes()) + beginning;
  }
  ByteWriter prefix;
  prefix.WriteUint64(version);
  prefix.WriteUint64(beginning.size());
  prefix.WriteUint64(Crc32c(beginning));
  std::string journal = "MERCERUP" + std::string(prefix.bytes()) + beginning;
  while (input.rest().size() >= kVouchedBytes) {
    const std::string vouched(input.Bytes(kVouchedBytes));
    ByteWriter checksum;
    checksum.WriteUint64(Crc32c(vouched));
    journal += vouched + std::string(checksum.bytes());
  }
  return journal + std::string(input.rest());
}

server::JournalContent Reopened(const std::string& path, int part, int64_t size) {
  server::JournalContent content;
  {
    const auto journal = server::UploadJournal::Open(path, server::PosixFileSystem(), &content);
    Require(journal.ok(), "a journal that was read can be read again");
    Require((*journal)->Record(part, size, absl::UnixEpoch()).ok(),
            "a journal can be gone on with");
  }
  server::JournalContent longer;
  Require(server::UploadJournal::Open(path, server::PosixFileSystem(), &longer).ok(),
          "a journal that was gone on with can be read");
  Require(longer.header == content.header && longer.caller == content.caller,
          "header and caller stay");
  Require(longer.last_time == absl::UnixEpoch(), "the last record holds");
  return longer;
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  static const auto& folder = *new ScratchFolder("upload_journal");
  Input input(bytes);
  const bool sealed = input.Choice(4) != 0;
  const std::string path =
      folder.Write("journal", sealed ? Sealed(input) : std::string(input.rest()));
  server::JournalContent content;
  const absl::Status opened =
      server::UploadJournal::Open(path, server::PosixFileSystem(), &content).status();
  if (!opened.ok()) {
    Require(!sealed, "a journal with right checksums can be read");
    return RequireRefusal(opened, {absl::StatusCode::kDataLoss}, /*needs_reason=*/false);
  }
  Require(content.header.size() + content.caller.size() + content.sizes.size() <= bytes.size() + 1,
          "memory is bounded by the input");
  for (const int64_t size : content.sizes) {
    Require(size >= 0, "a part has a size");
  }
  const bool has_part = !content.sizes.empty();
  const int part = has_part ? static_cast<int>(content.sizes.size()) - 1 : 0;
  const server::JournalContent longer = Reopened(path, part, 77);
  content.sizes.resize(static_cast<size_t>(part) + 1);
  content.sizes.back() = 77;
  Require(longer.sizes == content.sizes, "what a record vouches for is there");
}

std::vector<std::string> Seeds() {
  ByteWriter records;
  for (const int64_t number : {0, 0, 1'700'000'000, 0, 4096, 1'700'000'001, 1, 0, 1'700'000'002}) {
    records.WriteInt64(number);
  }
  const std::string choices = std::string(
                                  "\x01\x01\x0a"
                                  "annaheader\x04",
                                  14) +
                              std::string(records.bytes());
  Input input(choices);
  input.Byte();
  return {choices, choices + "torn", std::string(1, '\0') + Sealed(input)};
}

}  // namespace mercer::fuzz
