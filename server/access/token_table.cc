#include "server/access/token_table.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

constexpr size_t kMaxNameBytes = 63;
constexpr absl::string_view kGroups = "group=";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' ||
                  c == '.' || c == '@';
         });
}

absl::Status CheckName(std::string_view name) {
  if (name == kAnyone) {
    return absl::InvalidArgumentError("the name 'anyone' stands for everybody");
  }
  return IsName(name)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("the name must have 1 to ", kMaxNameBytes,
                                                       " letters, digits, '-', '_', '.' or '@'"));
}

// "lab,imaging" -> its words. Errors: kInvalidArgument.
absl::StatusOr<std::vector<std::string>> ParseGroups(absl::string_view text) {
  std::vector<std::string> groups = absl::StrSplit(text, ',');
  for (const std::string& group : groups) {
    if (!IsName(group)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a group must have 1 to ", kMaxNameBytes,
                       " letters, digits, '-', '_', '.' or '@'; between several are commas"));
    }
  }
  return groups;
}

bool IsHexDigest(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isxdigit(static_cast<unsigned char>(c));
         });
}

}  // namespace

absl::StatusOr<TokenTable::Entry> TokenTable::ParseLine(const std::vector<std::string>& fields,
                                                        Groups& groups) {
  if (fields.size() < 3 || fields.size() > 5) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected name, scopes, sha256 and perhaps a time and groups, found ",
                     fields.size(), " fields"));
  }
  MERCER_RETURN_IF_ERROR(CheckName(fields[0]));
  Entry entry;
  entry.caller.name = fields[0];
  MERCER_ASSIGN_OR_RETURN(entry.caller.scopes, ParseScopes(fields[1]));
  if (!IsHexDigest(fields[2])) {
    return absl::InvalidArgumentError(
        "the third field must be the SHA-256 of the token, 64 hexadecimal digits");
  }
  const std::string bytes = absl::HexStringToBytes(fields[2]);
  std::copy(bytes.begin(), bytes.end(), entry.digest.begin());
  for (size_t i = 3; i < fields.size(); ++i) {
    absl::string_view field = fields[i];
    const bool is_groups = absl::ConsumePrefix(&field, kGroups);
    std::string why;
    if (i > 3 && is_groups == absl::StartsWith(fields[3], kGroups)) {
      return absl::InvalidArgumentError("there are two fields of one kind behind the sha256");
    }
    if (is_groups) {
      MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> names, ParseGroups(field));
      for (const std::string& name : names) {
        auto& group = groups[name];
        if (group == nullptr) {
          group = std::make_shared<std::set<std::string, std::less<>>>();
        }
        group->insert(entry.caller.name);
        entry.caller.groups.push_back(group);  // later lines add their names
      }
    } else if (!absl::ParseTime(absl::RFC3339_full, field, &entry.expires, &why)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the expiry must look like 2027-01-31T00:00:00Z: ", why));
    }
  }
  return entry;
}

absl::StatusOr<TokenTable> TokenTable::Parse(std::string_view text) {
  TokenTable table;
  std::set<Sha256Bytes> digests;
  Groups groups;
  size_t line_number = 0;
  for (const absl::string_view line : absl::StrSplit(View(text), '\n')) {
    ++line_number;
    const std::vector<std::string> fields =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (fields.empty() || fields[0].front() == '#') {
      continue;
    }
    absl::StatusOr<Entry> entry = ParseLine(fields, groups);
    if (entry.ok() && !digests.insert(entry->digest).second) {
      entry = absl::InvalidArgumentError("this token is listed already");
    }
    if (!entry.ok()) {
      return WithReason(
          absl::InvalidArgumentError(
              absl::StrCat("line ", line_number, " of the token file: ", entry.status().message())),
          "BAD_TOKEN_FILE", {{"line", absl::StrCat(line_number)}});
    }
    table.entries_.push_back(*std::move(entry));
  }
  return table;
}

absl::StatusOr<Caller> TokenTable::Find(std::string_view token, absl::Time now) const {
  const Sha256Bytes digest = Sha256Of(token);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) {
      found = &entry;
    }
  }
  if (found == nullptr) {
    return WithReason(absl::UnauthenticatedError("the server does not know this token"),
                      "TOKEN_UNKNOWN");
  }
  if (now >= found->expires) {
    return WithReason(
        absl::UnauthenticatedError(
            absl::StrCat("the token of ", found->caller.name, " expired on ",
                         absl::FormatTime(absl::RFC3339_sec, found->expires, absl::UTCTimeZone()))),
        "TOKEN_EXPIRED", {{"caller", found->caller.name}});
  }
  return found->caller;
}

absl::StatusOr<std::string> RandomHex(size_t bytes) {
  std::string random(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), static_cast<int>(bytes)) != 1) {
    return absl::InternalError("the system has no random numbers to give");
  }
  return absl::BytesToHexString(random);
}

absl::StatusOr<std::string> MakeToken() {
  MERCER_ASSIGN_OR_RETURN(const std::string digits, RandomHex(32));
  return "mercer_" + digits;
}

absl::StatusOr<std::string> TokenLine(std::string_view name, ScopeSet scopes,
                                      std::string_view token, absl::Time expires,
                                      std::string_view groups) {
  MERCER_RETURN_IF_ERROR(CheckName(name));
  if (!groups.empty()) {
    MERCER_RETURN_IF_ERROR(ParseGroups(View(groups)).status());
  }
  if (scopes.empty()) {
    return absl::InvalidArgumentError("a token without scopes may do nothing");
  }
  return absl::StrCat(
      View(name), " ", FormatScopes(scopes), " ", Sha256Hex(token),
      expires == absl::InfiniteFuture()
          ? ""
          : absl::StrCat(" ", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", expires, absl::UTCTimeZone())),
      groups.empty() ? "" : absl::StrCat(" ", kGroups, View(groups)));
}

}  // namespace mercer::server
