// Short texts of requests: names of resources, page tokens, labels, texts for headers, traces.
#include <optional>
#include <string>

#include "core/base/status/shorten.h"
#include "server/rpc/call_metadata.h"
#include "server/storage/page_token.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/resource_names.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/server/answers.h"

namespace mercer::fuzz {
namespace {

void RequireRefused(const absl::Status& status) {
  RequireRefusal(status, {absl::StatusCode::kInvalidArgument});
  RequireTold(status);
}

void CheckModelName(std::string_view name) {
  const absl::StatusOr<server::ModelReference> model = server::ParseModelName(name, "model");
  if (!model.ok()) {
    return RequireRefused(model.status());
  }
  Require(server::IsResourceId(model->model), "a model's name is an id");
  std::string written = server::ModelName(model->model);
  if (model->version > 0) {
    written = server::ModelVersionName(model->model, model->version);
  } else if (!model->alias.empty()) {
    written = server::ModelAliasName(model->model, model->alias);
  }
  Require(written == name, "every resource has one name");
}

void CheckNames(std::string_view name) {
  const absl::StatusOr<std::string> dataset = server::ParseDatasetName(name, "name");
  dataset.ok() ? Require(server::DatasetName(*dataset) == name, "every data set has one name")
               : RequireRefused(dataset.status());
  const absl::StatusOr<std::string> job = server::ParseJobName(name, "name");
  job.ok() ? Require(server::JobName(*job) == name, "every job has one name")
           : RequireRefused(job.status());
  CheckModelName(name);
}

void CheckTokens(std::string_view query, std::string_view text) {
  const std::string token = server::MakePageToken(query, text);
  const absl::StatusOr<std::string> key = server::ReadPageToken(query, token);
  Require(key.ok() && *key == text, "a token gives back its key");
  Require(!server::ReadPageToken(std::string(query) + "x", token).ok(),
          "a token is one of its list alone");
  const absl::StatusOr<std::string> foreign = server::ReadPageToken(query, text);
  if (!foreign.ok()) {
    RequireRefused(foreign.status());
    RequireRefused(server::AboutPage(foreign.status()));
  }
  const absl::StatusOr<int64_t> number = server::ReadPageToken(query, token, 0);
  if (!number.ok()) {
    RequireRefused(number.status());
  }
}

void CheckTexts(std::string_view text) {
  for (const size_t limit : {size_t{4}, size_t{20}, size_t{200}}) {
    Require(Shorten(text, limit).size() <= limit, "a shortened text keeps within its limit");
  }
  google::protobuf::Map<std::string, std::string> labels;
  labels[std::string(text)] = std::string(text);
  FieldViolations violations;
  server::CheckLabels(labels, violations);
  server::CheckRequestId(text, violations);
  server::CheckDisplayName(text, violations);
  if (!violations.empty()) {
    RequireRefused(violations.ToStatus());
    RequireTold(violations.ToStatus());
  }
}

void CheckTrace(std::string_view header) {
  const std::optional<std::string> trace = server::ParseTraceParent(header);
  if (!trace.has_value()) {
    return;
  }
  Require(trace->size() == 32 && trace->find_first_not_of("0123456789abcdef") == std::string::npos,
          "a trace id is 32 hexadecimal digits");
  Require(header.substr(3, trace->size()) == *trace, "a trace id stands behind the version");
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  const std::string_view first = input.Line();
  CheckTokens(first, input.rest());
  CheckTrace(bytes);
  if (IsUtf8(bytes)) {
    CheckNames(bytes);
    CheckTexts(bytes);
  }
}

std::vector<std::string> Seeds() {
  return {"datasets/clouds",
          "jobs/j-0123456789abcdef",
          "models/clouds/versions/12",
          "models/clouds/aliases/best",
          "models/clouds",
          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
          "jobs\n" + server::MakePageToken("jobs", "17"),
          "a text of several words \xC3\xA9\xF0\x9F\x98\x80"};
}

}  // namespace mercer::fuzz
