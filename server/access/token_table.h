// Who holds which token: a text file, one line per token,
//
//   # name     scopes         sha256 of the token                     expiry and groups (optional)
//   ada        read,predict   9f86d081884c7d659a2feaa0c55ad015a3bf... 2027-01-31T00:00:00Z group=lab
//
// Fields are separated by blanks, several groups by commas; lines that begin with '#' and empty ones
// are skipped. Who has several tokens belongs, as an owner, to the groups of all of them, expired ones
// included; a call is made with the groups of its own token. The file never holds a token itself:
// tokens carry 256 random bits, so that a plain digest of one tells nothing about it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/access/scope.h"
#include "server/digest/sha256.h"

namespace mercer::server {

// The name of everybody where no tokens are asked for; no token may have it, for what it makes is nobody's.
inline constexpr std::string_view kAnyone = "anyone";

// Who makes a call.
struct Caller {
  using Group =
      std::shared_ptr<const std::set<std::string, std::less<>>>;  // the names of its members

  std::string name;
  ScopeSet scopes;
  std::vector<Group> groups;  // of the token
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
  struct Entry {
    Caller caller;
    Sha256Bytes digest;
    absl::Time expires = absl::InfiniteFuture();
  };
  using Groups = std::map<std::string, std::shared_ptr<std::set<std::string, std::less<>>>>;

  // Adds the holder of the line to `groups`.
  static absl::StatusOr<Entry> ParseLine(const std::vector<std::string>& fields, Groups& groups);

  std::vector<Entry> entries_;
};

// Twice as many digits as there are bytes. Errors: kInternal (the system has no randomness to give).
absl::StatusOr<std::string> RandomHex(size_t bytes);

// A new token: "mercer_" and 256 random bits in 64 hexadecimal digits. Errors: those of RandomHex.
absl::StatusOr<std::string> MakeToken();

// The line of the file for `token`. `groups`: with commas. Errors: kInvalidArgument (name, no scopes, groups).
absl::StatusOr<std::string> TokenLine(std::string_view name, ScopeSet scopes,
                                      std::string_view token,
                                      absl::Time expires = absl::InfiniteFuture(),
                                      std::string_view groups = "");

}  // namespace mercer::server
