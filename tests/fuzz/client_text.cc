// Texts for people: the first byte is a width, the rest the text. Cells keep within their column, and what is written as
// CSV reads back.
#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

#include "client/cpp/cli/prediction_csv.h"
#include "client/cpp/cli/text.h"
#include "client/cpp/cli/train_request.h"
#include "client/cpp/errors.h"
#include "client/cpp/field_text.h"
#include "core/base/status/errors.h"
#include "core/io/text/readers.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/server/answers.h"

namespace mercer::fuzz {
namespace {

void CheckWidths(const std::string& text, int width) {
  const std::string printable = client::Printable(text);
  Require(client::DisplayWidth(client::Pad(printable, width)) == std::max(0, width),
          "a padded text fills its column");
  Require(client::DisplayWidth(client::CutMiddle(printable, width)) <= std::max(0, width),
          "a cut text keeps within its column");
  client::Wrap(printable, width, 4);
  client::Table table({"NAME", "TEXT"});
  table.AddRow({text, text});
  table.ToString(width);
  client::Bar(static_cast<double>(text.size()) / 7, std::max(0, width));
}

void CheckList(const std::string& text) {
  std::vector<std::string> elements;
  const absl::Status split = client::SplitList(text, elements);
  if (!split.ok()) {
    RequireRefusal(split, {absl::StatusCode::kInvalidArgument}, false);
  }
}

void CheckCell(const std::string& text) {
  const std::string file = absl::StrCat("a,b\n", client::CsvCellText(text), ",1\n");
  CsvOptions options;
  options.categorical = {"a"};
  options.missing = {};
  options.allow_missing = true;
  const std::unique_ptr<ByteSource> source = MakeMemorySource(file);
  const absl::StatusOr<Dataset> read = ReadCsv(*source, options);
  if (read.ok() && read->blocks[0].columns[0].categories.size() == 1) {
    const std::string& cell = read->blocks[0].columns[0].categories[0];
    Require(cell == text || client::CsvCellText(text) == text, "a quoted cell reads back");
  }
}

void CheckFlags(Input input) {
  client::TrainFlags flags;
  flags.data = std::string(input.Line());
  flags.hold_out = std::string(input.Line());
  flags.folds = std::string(input.Line());
  flags.scaling = std::string(input.Line());
  flags.class_weights = std::string(input.Line());
  flags.time_limit = std::string(input.Line());
  flags.model = std::string(input.Line());
  flags.labels = {std::string(input.Line())};
  const absl::StatusOr<v1::TrainRequest> request = client::MakeTrainRequest(flags);
  if (!request.ok()) {
    RequireRefusal(request.status(), {absl::StatusCode::kInvalidArgument}, false);
  }
}

void CheckError(const std::string& text, int64_t offset) {
  const absl::Status error = WithReason(absl::InvalidArgumentError(text), "BAD_CELL",
                                        {{"row", text.substr(0, 20)}, {"column", text}});
  Require(!client::FormatError(client::ShiftErrorRow(error, offset)).empty(), "an error is shown");
  google::rpc::Status status;
  if (status.ParseFromString(text)) {
    client::FormatError(client::ToAbslStatus(status));
  }
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  SilenceProtobuf();
  Input input(bytes);
  const int width = static_cast<int>(input.Byte()) - 5;
  const std::string text(input.rest());
  CheckWidths(text, width);
  CheckList(text);
  CheckCell(text);
  CheckFlags(input);
  CheckError(text, width);
  const auto number = static_cast<int64_t>(input.Uint64());
  client::FormatBytes(number);
  client::FormatElapsed(absl::Microseconds(number));
  client::FormatElapsed(absl::Seconds(number));
  google::protobuf::Timestamp time;
  time.set_seconds(number);
  client::FormatTime(time);
}

std::vector<std::string> Seeds() {
  return {
      "\x14plain words of a text",
      "\x09"
      "caf\xC3\xA9 \xE6\xBC\xA2\xE5\xAD\x97 \xF0\x9F\x98\x80",
      "\x20"
      "d1\n0.25\n\nmin_max\nspam=2,\"a,b\"=1\n1h30m\nm\nteam=blue",
      "\x20"
      "d1\nsplit\n5\nnone\nbalanced\n1e300\nmodels/m\nteam",
      "\x30\"quoted \"\"text\"\", with comma\"\r\n",
  };
}

}  // namespace mercer::fuzz
