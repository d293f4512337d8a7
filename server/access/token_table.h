// Who holds which token: a text file, one line per token,
//
//   # name     scopes         sha256 of the token                     expires (optional)
//   ada        read,predict   9f86d081884c7d659a2feaa0c55ad015a3bf...  2027-01-31T00:00:00Z
//
// Fields are separated by blanks; lines that begin with '#' and empty ones are skipped. The file
// never holds a token itself: tokens carry 256 random bits, so that a plain digest of one tells
// nothing about it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/access/scope.h"

namespace mercer::server {

// Who makes a call.
struct Caller {
  std::string name;
  ScopeSet scopes;
};

// Immutable, hence thread-safe.
class TokenTable {
 public:
  // Errors: kInvalidArgument with reason BAD_TOKEN_FILE; the message names the line.
  static absl::StatusOr<TokenTable> Parse(std::string_view text);

  // The holder of `token`. Takes the same time wherever in the table the token stands, and whether
  // it is there at all. Errors: kUnauthenticated with reason TOKEN_UNKNOWN or TOKEN_EXPIRED.
  absl::StatusOr<Caller> Find(std::string_view token, absl::Time now) const;

  size_t size() const { return entries_.size(); }

 private:
  using Digest = std::array<uint8_t, 32>;
  struct Entry {
    Caller caller;
    Digest digest;
    absl::Time expires = absl::InfiniteFuture();
  };
  static absl::StatusOr<Entry> ParseLine(const std::vector<std::string>& fields);
  static Digest DigestOf(std::string_view token);

  std::vector<Entry> entries_;
};

// A new token: "mercer_" and 256 random bits in 64 hexadecimal digits. Errors: kInternal (no
// randomness).
absl::StatusOr<std::string> MakeToken();

// The line of the file for `token`. Errors: kInvalidArgument (name, no scopes).
absl::StatusOr<std::string> TokenLine(std::string_view name, ScopeSet scopes,
                                      std::string_view token,
                                      absl::Time expires = absl::InfiniteFuture());

}  // namespace mercer::server
