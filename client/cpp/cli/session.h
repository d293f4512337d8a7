// What a command works with: the server, the output, and how the output is to look.
#pragma once

#include <algorithm>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include <google/protobuf/message.h>

#include "client/cpp/cli/exit_code.h"
#include "client/cpp/cli/terminal.h"
#include "client/cpp/cli/text.h"
#include "client/cpp/client.h"

namespace mercer::client {

constexpr int kMaxListed = 1'000'000;  // by one command

struct SessionOptions {
  std::string server = "127.0.0.1:7345";
  double timeout_seconds = 30.0;
  bool json = false;
  int max_attempts = RetryPolicy().max_attempts;  // of each call
  SecurityFiles security = {};
};

class Session {
 public:
  Session(std::ostream& out, std::ostream& err) : out_(out), err_(err) {}

  SessionOptions& options() { return options_; }
  // Reads token and certificates. Errors: those of LoadSecurity and CheckSecurity.
  absl::Status LoadFiles();
  Client& client();  // connects at its first use
  std::ostream& out() { return out_; }
  std::ostream& err() { return err_; }
  // Of `out`; by default nothing that can be drawn on.
  const Terminal& terminal() const { return terminal_; }
  void set_terminal(const Terminal& terminal) { terminal_ = terminal; }
  bool json() const { return options_.json; }
  // From now on Ctrl-C requests stop of the result instead of ending the program.
  std::stop_token CatchInterrupts();
  // Must live as long as the session; without one, nothing is caught.
  void set_interrupts(InterruptGuard* interrupts) { interrupts_ = interrupts; }

  // Protobuf's JSON as one line with its end.
  static std::string JsonLine(const google::protobuf::Message& message);
  void PrintJson(const google::protobuf::Message& message);
  // A table, cut to the width of a terminal, or `if_empty` when it has no rows.
  void PrintTable(const Table& table, const std::string& if_empty);
  // Ends a list of at most `limit` things: says whether there are more.
  ExitCode EndList(bool more, int limit);
  void PrintDeleted(const std::string& name);
  // A remark beside the output; with --json as a google.rpc.Status of code CANCELLED.
  void PrintNote(const std::string& text);
  // Where to say what became of `file`: not behind its bytes when it is the standard output itself.
  std::ostream& BesideFile(const std::string& file);
  // "error: ..." with what is wrong, where and what is allowed; with --json the google.rpc.Status.
  void PrintError(const absl::Status& status);

 private:
  std::ostream& out_;
  std::ostream& err_;
  Terminal terminal_;
  SessionOptions options_;
  InterruptGuard* interrupts_ = nullptr;
  Security security_;
  std::unique_ptr<Client> client_;
};

// Leaves at most `limit` items of a list that was asked for one more; true when it had more.
template <typename Item>
bool CutToLimit(int limit, std::vector<Item>& items) {
  const bool more = items.size() > static_cast<size_t>(limit);
  items.resize(std::min(items.size(), static_cast<size_t>(limit)));
  return more;
}

// Full names: "spam" is "models/spam", "spam@live" is "models/spam/aliases/live"; full names stay.
std::string FullName(const std::string& collection, const std::string& name);

// Whether a full name is that of a model and not of a version or an alias.
inline bool IsWholeModel(const std::string& name) { return name.find('/') == name.rfind('/'); }

// "key=value" of a repeated flag. Errors: kInvalidArgument naming `flag`.
absl::StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& flag,
                                                                    const std::string& text);

// Reads "\t", "tab" and single characters; "guess" is kGuessDelimiter (table_rows.h). Errors: kInvalidArgument.
absl::StatusOr<char> ParseDelimiter(const std::string& text);

}  // namespace mercer::client
