// svmlight files. The same numbers, written out again, read back as the same data set.
#include <charconv>
#include <memory>
#include <string>

#include "core/io/text/readers.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/datasets.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"

namespace mercer::fuzz {
namespace {

SvmlightOptions ReadOptions(Input& input) {
  constexpr Index kColumns[] = {0, 0, 3, 100, Index{1} << 25, -1, (Index{1} << 25) + 1, 1};
  const uint8_t flags = input.Byte();
  SvmlightOptions options;
  options.num_columns = kColumns[flags & 7];
  options.max_bytes = (flags & 8) != 0 ? 256 : size_t{1} << 24;
  return options;
}

void AppendNumber(double value, std::string& text) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  text.append(digits, end);
}

void AppendEntry(Index column, double value, std::string& text) {
  text += " " + std::to_string(column + 1) + ":";
  AppendNumber(value, text);
}

std::string Written(const Dataset& dataset) {
  const FeatureBlock& block = dataset.blocks[0];
  const RoleColumn* group = dataset.FindColumn(ColumnRole::kGroup);
  std::string text;
  for (Index row = 0; row < dataset.rows; ++row) {
    AppendNumber(dataset.role_columns[0].values(row), text);
    if (group != nullptr) {
      text += " qid:";
      AppendNumber(group->values(row), text);
    }
    if (block.is_sparse) {
      const auto begin = static_cast<size_t>(block.sparse.row_starts[static_cast<size_t>(row)]);
      const auto end = static_cast<size_t>(block.sparse.row_starts[static_cast<size_t>(row) + 1]);
      for (size_t i = begin; i < end; ++i) {
        AppendEntry(block.sparse.column_indices[i], block.sparse.values[i], text);
      }
    }
    for (Index column = 0; !block.is_sparse && column < block.num_columns(); ++column) {
      AppendEntry(column, block.values.view()(row, column), text);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  SvmlightOptions options = ReadOptions(input);
  const std::string text(input.rest());
  const std::unique_ptr<ByteSource> source = MakePieceSource(text, 7);
  const absl::StatusOr<Dataset> dataset = ReadSvmlight(*source, options);
  if (!dataset.ok()) {
    const bool about_options = options.num_columns < 0 || options.num_columns > (Index{1} << 25);
    RequireRefusal(dataset.status(),
                   {absl::StatusCode::kInvalidArgument, absl::StatusCode::kResourceExhausted},
                   absl::IsInvalidArgument(dataset.status()) && !about_options);
    return;
  }
  Require(ValidateDataset(*dataset).ok(), "what was read is a data set");
  Require(dataset->MemoryBytes() <= 64 * text.size() + 4096, "an entry takes bounded memory");
  options.num_columns = dataset->blocks[0].num_columns();
  options.max_bytes = size_t{1} << 24;
  const std::unique_ptr<ByteSource> written = MakeMemorySource(Written(*dataset));
  const absl::StatusOr<Dataset> again = ReadSvmlight(*written, options);
  Require(again.ok(), "what was written can be read");
  Require(EncodedDataset(*again) == EncodedDataset(*dataset), "what was written reads back");
}

std::vector<std::string> Seeds() {
  using namespace std::string_literals;
  return {
      "\x00"s + "1 1:0.5 3:-2 # comment\n-1 2:1e-3\n",
      "\x00"s + "1 qid:3 1:1 2:2\n2 qid:4 1:5\n\n# nothing\n",
      "\x03"s + "+1 99:1\r\n-1\r\n",
      "\x04"s + "1 33554432:1\n",
  };
}

}  // namespace mercer::fuzz
