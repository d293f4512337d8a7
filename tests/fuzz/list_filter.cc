// Filters and orders of lists: what is read can be printed and read again, and asked of the database.
#include "server/storage/list_filter.h"

#include <string>

#include "server/translation/list_fields.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/server/answers.h"

namespace mercer::fuzz {
namespace {

using ReadQuery = absl::StatusOr<server::ListQuery>(std::string_view, std::string_view);

void CheckQuery(ReadQuery* read, std::string_view filter, std::string_view order) {
  const absl::StatusOr<server::ListQuery> query = read(filter, order);
  if (!query.ok()) {
    RequireRefusal(query.status(), {absl::StatusCode::kInvalidArgument});
    RequireTold(query.status());
    return;
  }
  if (!query->filter.has_value()) {
    return;
  }
  const std::string printed = server::PrintFilter(*query->filter);
  if (printed.size() > server::kMaxFilterBytes) {
    return;
  }
  const absl::StatusOr<server::ListQuery> again = read(printed, order);
  Require(again.ok(), "what is printed can be read");
  Require(again->filter == query->filter, "what is printed is the same filter");
  Require(server::DescribeListQuery(*again) == server::DescribeListQuery(*query),
          "a query has one description");
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  const std::string_view order = input.Line();
  if (!IsUtf8(order) || !IsUtf8(input.rest())) {
    return;  // no text of a request
  }
  for (ReadQuery* const read : {&server::ReadJobQuery, &server::ReadModelQuery,
                                &server::ReadVersionQuery, &server::ReadDatasetQuery}) {
    CheckQuery(read, input.rest(), order);
  }
}

std::vector<std::string> Seeds() {
  return {
      "\naliases:models/spam/aliases/live AND job != jobs/j-1 OR size_bytes > 1000",
      "name\nnum_versions > 2 AND update_time > 2026-01-31T12:00:00Z",
      "name\nrows >= 10 AND display_name = 'all of it'",
      "\nstate = FAILED AND labels.team:vision",
      "name desc\nNOT (learner = svm OR create_time < 2026-01-31T12:00:00.5Z) AND priority > -5",
      "create_time\n-labels:team OR labels.\"odd key\" != 'it\\'s \\\\'",
      "\nmodel = models/spam/versions/3 OR model = models/ham AND datasets:datasets/mail",
      "\n((((state:QUEUED))))",
      "\nend_time:* AND owner = \"\xC3\xA9*\""};
}

}  // namespace mercer::fuzz
