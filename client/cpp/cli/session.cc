#include "client/cpp/cli/session.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <google/protobuf/util/json_util.h>

#include "client/cpp/errors.h"

namespace mercer::client {
namespace {

// What the user can do next, where the error itself does not say it.
std::string HintFor(const absl::Status& status, const std::string& server) {
  const bool from_server = !ReadErrorReport(status).reason.empty();
  if (status.code() == absl::StatusCode::kUnavailable && !from_server) {
    return absl::StrCat(
        "\n  Is it running? Start one with: mercer-server --data-dir DIR",
        "\n  Another address: --server HOST:PORT, or MERCER_SERVER in the environment.", "\n  (",
        status.message(), ")");
  }
  if (status.code() == absl::StatusCode::kDeadlineExceeded) {
    return absl::StrCat("\n  Server: ", server, ". More time: --timeout SECONDS");
  }
  return "";
}

}  // namespace

Client& Session::client() {
  if (client_ == nullptr) {
    client_ = std::make_unique<Client>(ClientOptions{
        .address = options_.server, .timeout = absl::Seconds(options_.timeout_seconds)});
  }
  return *client_;
}

void Session::PrintJson(const google::protobuf::Message& message) {
  std::string text;
  if (google::protobuf::util::MessageToJsonString(message, &text).ok()) {
    out_ << text << std::endl;
  }
}

void Session::PrintError(const absl::Status& status) {
  if (json()) {
    std::string text;
    if (google::protobuf::util::MessageToJsonString(ToRpcStatus(status), &text).ok()) {
      err_ << text << std::endl;
    }
    return;
  }
  const bool no_answer =
      status.code() == absl::StatusCode::kUnavailable && ReadErrorReport(status).reason.empty();
  err_ << "error: "
       << (no_answer ? absl::StrCat("no server answers at ", options_.server) : FormatError(status))
       << HintFor(status, options_.server) << std::endl;
}

std::stop_token Session::CatchInterrupts() {
  if (interrupts_ == nullptr) {
    return {};
  }
  interrupts_->Catch();
  return interrupts_->token();
}

std::string FullName(const std::string& collection, const std::string& name) {
  return absl::StartsWith(name, collection + "/") ? name : absl::StrCat(collection, "/", name);
}

absl::StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& flag,
                                                                    const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": must be NAME=VALUE, is '", text, "'"));
  }
  return std::make_pair(text.substr(0, equals), text.substr(equals + 1));
}

absl::StatusOr<char> ParseDelimiter(const std::string& text) {
  if (text == "tab" || text == "\\t") {
    return '\t';
  }
  if (text.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--delimiter: must be one character or tab, is '", text, "'"));
  }
  return text[0];
}

}  // namespace mercer::client
