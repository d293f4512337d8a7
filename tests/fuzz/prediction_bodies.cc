// Bodies of predictions over HTTP, rows as JSON objects and as CSV: the first byte chooses the form.
#include <string>

#include "absl/status/status.h"

#include "mercer/v1/prediction_service.pb.h"
#include "server/gateway/rows/row_texts.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/server/answers.h"

namespace mercer::fuzz {
namespace {

constexpr size_t kMemory = size_t{64} << 20;

int RowsOf(const v1::TypedColumn& column) {
  return column.has_texts() ? column.texts().values_size() : column.numbers().values_size();
}

void CheckRows(const v1::Rows& rows) {
  for (const v1::TypedColumn& column : rows.columns()) {
    Require(RowsOf(column) == RowsOf(rows.columns(0)), "all columns have a cell for each row");
  }
  RequireSendable(rows);
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  SilenceProtobuf();
  Input input(bytes);
  const bool is_csv = input.Choice(2) == 1;
  const std::string body(input.rest());
  size_t taken = 0;
  const gateway::MemoryCheck check = [&taken](size_t more) {
    taken += more;
    return taken <= kMemory ? absl::OkStatus() : absl::UnavailableError("the memory is full");
  };
  v1::Rows rows;
  absl::Status status;
  if (is_csv) {
    status = gateway::ReadCsvRows(body, check, rows);
  } else {
    const auto listed = gateway::FindListedRows(body);
    if (!listed.has_value()) {
      return;
    }
    Require(listed->rest.size() == body.size() - listed->rows.size() + 2, "nothing else is cut");
    status = gateway::ReadListedRows(std::string(listed->rows), check, rows);
  }
  if (status.ok()) {
    CheckRows(rows);
  } else if (taken <= kMemory) {
    RequireRefusal(status, {absl::StatusCode::kInvalidArgument});
    RequireTold(status);
  }
}

std::vector<std::string> Seeds() {
  const std::string objects(1, '\0');
  return {
      objects + R"({"rows": [{"age": 3, "color": "red"}, {"age": null, "ok": true}], "task": "a"})",
      objects +
          R"({"rows": [{"age": 3}], "taskRule": "TASK_RULE_MEAN_IF_UNKNOWN", "task_rule": 3})",
      objects + R"({"rows":[{"a\u00e9":"\ud83d\ude00\n"},{"a\u00e9":-1.5e-3}]})",
      "\1age,color\n3,red\n,\"a, b\"\n",
      "\1"
      "age;b\r\n1;NA\r\n\r\n",
  };
}

}  // namespace mercer::fuzz
