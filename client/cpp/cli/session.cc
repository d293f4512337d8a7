#include "client/cpp/cli/session.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "client/cpp/cli/field_words.h"
#include "client/cpp/errors.h"
#include "client/cpp/table_rows.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

// Streams have ten times as long for one step: a batch may be large.
constexpr double kStreamFactor = 10.0;

// What is wrong and what the user can do about it.
std::string Explain(const absl::Status& status, const std::string& server) {
  const std::string reason = ReadErrorReport(status).reason;
  const bool from_server = !reason.empty();
  if (absl::IsUnavailable(status) && !from_server) {
    return absl::StrCat(
        "no server answers at ", server,
        "; start one with 'mercer-server --data-dir DIR', or name another with --server "
        "HOST:PORT or MERCER_SERVER; one that uses TLS is reached with --tls or --ca FILE\n  (",
        status.message(), ")");
  }
  if (absl::IsDeadlineExceeded(status) && !from_server) {
    return absl::StrCat("the server at ", server,
                        " does not answer in time; wait longer with --timeout SECONDS\n  (",
                        status.message(), ")");
  }
  if (absl::IsUnauthenticated(status)) {
    return absl::StrCat(FormatError(status, &kFlagWords),
                        "\n  give a token with --token-file FILE or MERCER_TOKEN; 'mercer-server "
                        "token' makes one for the server's operator");
  }
  const std::string way_out = WayOutInFlags(reason);
  return absl::StrCat(FormatError(status, &kFlagWords), way_out.empty() ? "" : "\n  ", way_out);
}

}  // namespace

absl::Status Session::LoadFiles() {
  MERCER_ASSIGN_OR_RETURN(security_, LoadSecurity(options_.security));
  return CheckSecurity(options_.server, security_);
}

Client& Session::client() {
  if (client_ == nullptr) {
    client_ = std::make_unique<Client>(
        ClientOptions{.address = options_.server,
                      .timeout = absl::Seconds(options_.timeout_seconds),
                      .stream_timeout = absl::Seconds(kStreamFactor * options_.timeout_seconds),
                      .retry = {.max_attempts = options_.max_attempts},
                      .security = security_});
  }
  return *client_;
}

std::string Session::JsonLine(const google::protobuf::Message& message) {
  std::string text;
  // Fails for google.protobuf.Any of unknown types only, which details of errors may hold.
  return google::protobuf::util::MessageToJsonString(message, &text).ok() ? text + "\n" : "{}\n";
}

void Session::PrintJson(const google::protobuf::Message& message) {
  out_ << JsonLine(message) << std::flush;
}

void Session::PrintTable(const Table& table, const std::string& if_empty) {
  out_ << (table.empty() ? if_empty + "\n" : table.ToString(TableWidth(terminal_))) << std::flush;
}

ExitCode Session::EndList(bool more, int limit) {
  if (more && !json()) {
    out_ << "and more than these " << limit << "; see them with --limit N" << std::endl;
  }
  return ExitCode::kOk;
}

void Session::PrintDeleted(const std::string& name) {
  if (!json()) {
    out_ << name << " deleted" << std::endl;
    return;
  }
  google::protobuf::Struct message;
  (*message.mutable_fields())["deleted"].set_string_value(name);
  PrintJson(message);
}

void Session::PrintNote(const std::string& text) {
  if (json()) {
    PrintError(absl::CancelledError(text));
  } else {
    err_ << text << std::endl;
  }
}

std::ostream& Session::BesideFile(const std::string& file) {
  return IsStandardOutput(file) ? err_ : out_;
}

void Session::PrintError(const absl::Status& status) {
  if (json()) {
    err_ << JsonLine(ToRpcStatus(status)) << std::flush;
    return;
  }
  err_ << "error: " << Explain(status, options_.server) << std::endl;
}

std::stop_token Session::CatchInterrupts() {
  if (interrupts_ == nullptr) {
    return {};
  }
  interrupts_->Catch();
  return interrupts_->token();
}

std::string FullName(const std::string& collection, const std::string& name) {
  const std::string full =
      absl::StartsWith(name, collection + "/") ? name : absl::StrCat(collection, "/", name);
  const size_t at = collection == "models" ? full.find('@') : std::string::npos;
  return at == std::string::npos
             ? full
             : absl::StrCat(full.substr(0, at), "/aliases/", full.substr(at + 1));
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
  if (text == "guess") {
    return kGuessDelimiter;
  }
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
