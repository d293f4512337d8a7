// Compressed input: damaged streams, several members, bombs.
#include <memory>
#include <string>
#include <vector>

#include <zlib.h>

#include "core/base/status/errors.h"
#include "core/io/text/readers.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/datasets.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace mercer::fuzz {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 16;

std::string Compress(std::string_view text, int level) {
  z_stream stream = {};
  Require(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string input(text);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  Require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

absl::StatusOr<std::string> ReadAll(ByteSource& source, size_t capacity) {
  std::string text;
  std::vector<char> buffer(capacity);
  while (true) {
    const absl::StatusOr<size_t> got = source.Read(buffer.data(), capacity);
    if (!got.ok()) {
      return got.status();
    }
    Require(*got <= capacity, "a source keeps within the buffer");
    if (*got == 0) {
      return text;
    }
    text.append(buffer.data(), *got);
  }
}

absl::StatusOr<std::string> Inflate(const std::string& packed, size_t piece, size_t capacity) {
  const std::unique_ptr<ByteSource> source =
      MakeInflatingSource(MakePieceSource(packed, piece), kMaxBytes);
  return ReadAll(*source, capacity);
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  const std::string text(bytes);
  const absl::StatusOr<std::string> inflated = Inflate(text, 1 << 16, 1 << 12);
  const absl::StatusOr<std::string> in_pieces = Inflate(text, 5, 11);
  // What is both too large and damaged is refused for the one or for the other.
  Require(inflated.ok() == in_pieces.ok(), "the pieces do not matter");
  if (inflated.ok()) {
    const bool is_gzip = text.size() >= 2 && text[0] == '\x1F' && text[1] == '\x8B';
    Require(*inflated == *in_pieces, "the pieces do not matter");
    Require(is_gzip ? inflated->size() <= kMaxBytes : *inflated == text,
            "what is not compressed passes through, what is keeps within the limit");
  } else {
    RequireRefusal(inflated.status(),
                   {absl::StatusCode::kInvalidArgument, absl::StatusCode::kResourceExhausted},
                   absl::IsInvalidArgument(inflated.status()));
  }
  const absl::StatusOr<std::string> round = Inflate(Compress(bytes, 6), 100, 100);
  Require(round.ok() && *round == text, "what was compressed is inflated");
}

std::vector<std::string> Seeds() {
  const std::string one = Compress("a,b\n1,2\n", 9);
  return {"a,b\n1,2\n", one, one + Compress("3,4\n", 1), Compress(std::string(3000, 'x'), 0),
          Compress(std::string(kMaxBytes + 1, '\0'), 9)};
}

}  // namespace mercer::fuzz
