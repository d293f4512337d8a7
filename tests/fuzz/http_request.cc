// What comes in at the port of HTTP: requests, however they are cut, their paths, queries and bodies.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/model_service.pb.h"
#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/training_service.pb.h"
#include "server/gateway/assets.h"
#include "server/gateway/http/request_guard.h"
#include "server/gateway/http/request_parser.h"
#include "server/gateway/http/url.h"
#include "server/gateway/routes.h"
#include "server/gateway/rpc_messages.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/server/answers.h"

namespace mercer::fuzz {
namespace {

constexpr size_t kHeadBytes = 4096;

// Referred to by name alone, the files would not be linked.
void LinkMessages() {
  v1::GetDatasetRequest::descriptor();
  v1::GetModelVersionRequest::descriptor();
  v1::PredictRequest::descriptor();
  v1::GetJobRequest::descriptor();
}

struct Parsed {
  int error_status = 0;
  bool done = false;
  gateway::RequestHead head;
  std::string body;
};

// As a connection does it, with `step` bytes at a time.
Parsed Parse(std::string_view text, size_t step) {
  gateway::RequestParser parser(kHeadBytes);
  Parsed parsed;
  std::string input;
  bool has_head = false;
  for (bool stuck = false; !stuck && parser.error_status() == 0 && !parser.done();) {
    const size_t taken = parser.Put(input);
    Require(taken <= input.size(), "a parser takes what there is");
    input.erase(0, taken);
    if (parser.head_done() && !has_head) {
      has_head = true;
      parsed.head = parser.TakeHead();
    }
    parsed.body += parser.TakeBody();
    if (taken == 0) {
      stuck = text.empty();
      input.append(text.substr(0, step));
      text.remove_prefix(std::min(step, text.size()));
    }
  }
  parsed.error_status = parser.error_status();
  parsed.done = parser.done();
  return parsed;
}

void CheckParser(const Parsed& whole, const Parsed& cut) {
  const int error = whole.error_status;
  Require(error == 0 || error == 400 || error == 431 || error == 501 || error == 505,
          "a refusal has a status");
  Require(whole.done == cut.done, "a request is one however it is cut");
  if (whole.done) {
    Require(whole.body == cut.body && whole.head.target == cut.head.target &&
                whole.head.headers == cut.head.headers,
            "a request is the same however it is cut");
  }
}

void CheckRequest(const gateway::RequestHead& head, const std::string& body) {
  const absl::Status site = gateway::CheckSite(head, {true, false});
  if (!site.ok()) {
    RequireRefusal(site, {absl::StatusCode::kInvalidArgument, absl::StatusCode::kPermissionDenied});
  }
  const std::string_view path = gateway::PathOf(head.target);
  const gateway::Answer asset = gateway::AnswerAsset(
      [](std::string_view) -> const gateway::Asset* { return nullptr; }, head, path);
  Require(asset.status == 200 || asset.status == 404, "a file is there or not");
  const absl::StatusOr<gateway::RouteMatch> match = gateway::FindRoute(head.method, path);
  if (!match.ok()) {
    return RequireRefusal(match.status(),
                          {absl::StatusCode::kNotFound, absl::StatusCode::kUnimplemented});
  }
  const auto message = gateway::MakeRequestMessage(*match, head, body);
  if (!message.ok()) {
    RequireRefusal(message.status(), {absl::StatusCode::kInvalidArgument});
    RequireTold(message.status());
  }
}

}  // namespace

void TestOneInput(std::string_view input) {
  LinkMessages();
  const Parsed whole = Parse(input, input.size() + 1);
  const size_t step = input.empty() ? 1 : 1 + static_cast<unsigned char>(input.back()) % 16;
  CheckParser(whole, Parse(input, step));
  if (whole.done) {
    CheckRequest(whole.head, whole.body);
  }
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  const auto add = [&seeds](const std::string& line, const std::string& headers,
                            const std::string& body) {
    seeds.push_back(absl::StrCat(line, " HTTP/1.1\r\nHost: localhost:7380\r\n", headers,
                                 "Content-Length: ", body.size(), "\r\n\r\n", body));
  };
  add("GET /v1/jobs?pageSize=3&states=JOB_STATE_RUNNING&labels.team=a", "", "");
  add("GET "
      "/v1/models/spam/aliases/"
      "live:version?view=MODEL_VERSION_VIEW_FULL&asOfTime=2026-01-31T00:00:00Z",
      "", "");
  add("POST /v1/jobs", "Content-Type: application/json\r\n",
      R"({"data":[{"dataset":"datasets/a"}],"learner":{"lpMkl":{"p":"Infinity","kernels":[{"type":"KERNEL_TYPE_GAUSSIAN","bandwidths":[0.5]}]}}})");
  add("PATCH /v1/models/a/versions/3", "X-Mercer: 1\r\n",
      R"({"modelVersion":{"labels":{"a":"b"}},"updateMask":"labels,description"})");
  add("DELETE /v1/datasets/a?whenUnused=true", "Authorization: Bearer x\r\n", "");
  seeds.push_back(
      "POST /v1/jobs/a:cancel HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2;x=y\r\n{}\r\n0\r\n\r\n");
  seeds.push_back("GET / HTTP/1.0\r\n\r\n");
  return seeds;
}

}  // namespace mercer::fuzz
