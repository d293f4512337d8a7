// Files of rows to predict, as the command line reads them: the first byte chooses the form, the rest is the file.
#include <memory>
#include <string>

#include "client/cpp/row_pieces.h"
#include "client/cpp/table_rows.h"
#include "core/base/status/errors.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/datasets.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"

namespace mercer::fuzz {
namespace {

using client::RowReader;

void RequireRefused(const absl::Status& status) {
  RequireRefusal(status,
                 {absl::StatusCode::kInvalidArgument, absl::StatusCode::kResourceExhausted});
}

absl::StatusOr<std::unique_ptr<RowReader>> OpenReader(Input& input) {
  const size_t choice = input.Choice(5);
  std::unique_ptr<ByteSource> source = MakePieceSource(std::string(input.rest()), 13);
  if (choice == 3) {
    return client::OpenSvmlightRows(std::move(source));
  }
  if (choice == 4) {
    return client::OpenSquareRows("gram", std::move(source), ',');
  }
  client::CsvRowsOptions options;
  options.delimiter = choice == 1 ? ';' : ',';
  options.has_header = choice != 2;
  options.ignored = {"b"};
  return client::OpenCsvRows(std::move(source), options);
}

// The number of rows of all batches.
absl::StatusOr<int64_t> CountAll(std::string_view bytes, const client::BatchLimits& limits) {
  Input input(bytes);
  absl::StatusOr<std::unique_ptr<RowReader>> reader = OpenReader(input);
  if (!reader.ok()) {
    return reader.status();
  }
  client::RowBatches batches(limits);
  batches.Add("rows", *std::move(reader));
  int64_t rows = 0;
  while (true) {
    const absl::StatusOr<v1::Rows> batch = batches.Next();
    if (!batch.ok()) {
      return batch.status();
    }
    if (batch->ByteSizeLong() == 0) {
      return rows;
    }
    rows += client::CountRows(*batch);
  }
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  const absl::StatusOr<int64_t> whole = CountAll(bytes, {});
  const absl::StatusOr<int64_t> pieces = CountAll(bytes, {2, 64});
  if (!whole.ok()) {
    RequireRefused(whole.status());
  } else if (pieces.ok()) {
    Require(*whole == *pieces, "the size of the batches does not matter");
  }
  Input input(bytes);
  input.Byte();
  const std::unique_ptr<ByteSource> source = MakePieceSource(std::string(input.rest()), 13);
  const absl::StatusOr<client::SquareValues> square = client::ReadSquareText(*source, ',');
  if (!square.ok()) {
    return RequireRefused(square.status());
  }
  Require(
      square->bytes.size() == static_cast<size_t>(square->rows * square->columns) * sizeof(double),
      "a square has the numbers of its rows and columns");
}

std::vector<std::string> Seeds() {
  using namespace std::string_literals;
  return {
      "\x00"s + "a,b,c\n1,2,red\n3,NA,\"b,l\"\n",
      "\x01"s + "a;b\n1;2\n\n",
      "\x02"s + "1,2\n3,4\n5,6\n",
      "\x03"s + "1 1:2 3:4\n# comment\n-1 2:1e5\n0\n",
      "\x04"s + "1,0.5\n0.5,1\n",
  };
}

}  // namespace mercer::fuzz
