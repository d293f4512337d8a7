// CSV files with the options of an upload. What is read back from what WriteCsv writes is the same data set.
#include <memory>
#include <string>
#include <utility>

#include "core/base/status/errors.h"
#include "core/io/store/dataset_file.h"
#include "core/io/text/readers.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/datasets.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"

namespace mercer::fuzz {
namespace {

constexpr std::string_view kDelimiters = ",;\t |:";

CsvOptions ReadOptions(Input& input) {
  const uint8_t flags = input.Byte();
  CsvOptions options;
  options.delimiter = kDelimiters[input.Choice(kDelimiters.size())];
  options.has_header = (flags & 1) == 0;
  options.allow_missing = (flags & 2) != 0;
  const std::string first = options.has_header ? "a" : "c1";
  const std::string second = options.has_header ? "b" : "c2";
  if ((flags & 4) != 0) {
    options.roles[first] = ColumnRole::kTarget;
  }
  if ((flags & 8) != 0) {
    options.categorical = {first};
  }
  if ((flags & 16) != 0) {
    options.numeric = {second};
  }
  if ((flags & 32) != 0) {
    options.blocks = {{"left", {second}}};
  }
  if ((flags & 64) != 0) {
    options.max_bytes = 256;
  }
  if ((flags & 128) != 0) {
    options.missing = {"-", "-999"};
  }
  return options;
}

// What the first reading has decided, stated.
CsvOptions OptionsOf(const Dataset& dataset, char delimiter) {
  CsvOptions options;
  options.delimiter = delimiter;
  options.allow_missing = true;
  const auto state_type = [&](const ColumnSchema& schema) {
    (schema.categorical ? options.categorical : options.numeric).push_back(schema.name);
  };
  for (const FeatureBlock& block : dataset.blocks) {
    for (const ColumnSchema& schema : block.columns) {
      state_type(schema);
    }
  }
  for (const RoleColumn& column : dataset.role_columns) {
    options.roles[column.schema.name] = column.role;
    state_type(column.schema);
  }
  return options;
}

void CheckWritten(const Dataset& dataset, char delimiter) {
  const std::string text = WriteCsv(dataset, delimiter);
  const std::unique_ptr<ByteSource> source = MakeMemorySource(text);
  const absl::StatusOr<Dataset> again = ReadCsv(*source, OptionsOf(dataset, delimiter));
  Require(again.ok(), "what was written can be read");
  Require(EncodedDataset(*again) == EncodedDataset(dataset), "what was written reads back");
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  const CsvOptions options = ReadOptions(input);
  const std::string text(input.rest());
  const std::unique_ptr<ByteSource> whole = MakeMemorySource(text);
  const absl::StatusOr<Dataset> dataset = ReadCsv(*whole, options);
  const std::unique_ptr<ByteSource> pieces = MakePieceSource(text, 3);
  const absl::StatusOr<Dataset> same = ReadCsv(*pieces, options);
  Require(dataset.status() == same.status(), "the pieces in which bytes come do not matter");
  if (!dataset.ok()) {
    RequireRefusal(dataset.status(),
                   {absl::StatusCode::kInvalidArgument, absl::StatusCode::kResourceExhausted},
                   !absl::IsResourceExhausted(dataset.status()));
    return;
  }
  Require(ValidateDataset(*dataset).ok(), "what was read is a data set");
  Require(dataset->MemoryBytes() <= 64 * text.size() + 4096, "a cell takes bounded memory");
  Require(EncodedDataset(*same) == EncodedDataset(*dataset), "the pieces do not matter");
  if (options.blocks.empty()) {
    CheckWritten(*dataset, options.delimiter);
  }
}

std::vector<std::string> Seeds() {
  using namespace std::string_literals;
  return {
      "\x00\x00"s + "a,b,c\n1,2,3\n4,5,6\n",
      "\x04\x00"s + "a,b\nspam,1.5e-3\nham,-2\nspam,+.5\n",
      "\x02\x01"s + "a;b\n\"x;\"\"y\"\"\n\"; NA\n ?;inf\n",
      "\x03\x02"s + "1\t2\t\n3\t\t4\n",
      "\x2c\x00"s + "a,b,c\r\nred,1,0x10\r\nblue,2,1e400\r\n\r\n",
      "\x00\x00\xef\xbb\xbf"s + "a,b\n1,2\n",
      "\x80\x00"s + "a,b\n-999,-\n1,nan\n",
  };
}

}  // namespace mercer::fuzz
