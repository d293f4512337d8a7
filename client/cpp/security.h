// Who a client says it is, and how it makes sure of whom it talks to.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mercer::client {

struct Security {
  std::string token = {};  // sent with every call; empty: none
  bool tls = false;        // false: plain text
  // PEM of those who may sign the server's certificate; empty: the system's.
  std::string authorities = {};
  std::string certificate = {};  // PEM, with `key`: the client's own; empty: none
  std::string key = {};
  std::string server_name = {};  // of the server's certificate; empty: that of the address
};

// Where a Security comes from. A file of TLS switches TLS on.
struct SecurityFiles {
  std::string token_file = {};  // first line
  std::string token = {};       // when there is no token_file
  bool tls = false;
  std::string authorities = {};
  std::string certificate = {};
  std::string key = {};
  std::string server_name = {};
};

// Errors: kNotFound (a file cannot be read), kInvalidArgument (a certificate without its key, a
// server_name without TLS, an empty file, a token that no header can hold). No message quotes a token.
absl::StatusOr<Security> LoadSecurity(const SecurityFiles& files);

// Errors: kInvalidArgument when a token would travel in plain text to another machine, where everybody on
// the way could read and use it.
absl::Status CheckSecurity(const std::string& address, const Security& security);

}  // namespace mercer::client
