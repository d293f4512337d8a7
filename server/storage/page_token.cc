#include "server/storage/page_token.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// FNV-1a of the query, its length and the key: tells tokens of other queries and typing errors from
// our own. Not a signature: a forged token gives a page of the same list, nothing more.
std::string Checksum(std::string_view query, std::string_view key) {
  uint64_t hash = 14695981039346656037ULL;
  const std::string text = absl::StrCat(query.size(), ":", std::string(query), std::string(key));
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  std::string bytes(8, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(hash & 0xff);
    hash >>= 8;
  }
  return bytes;
}

}  // namespace

absl::Status BadPageToken() {
  return WithReason(absl::InvalidArgumentError("not a token of this list, filter and order"),
                    "BAD_PAGE_TOKEN");
}

std::string MakePageToken(std::string_view query, std::string_view key) {
  return absl::WebSafeBase64Escape(absl::StrCat(Checksum(query, key), std::string(key)));
}

absl::StatusOr<std::string> ReadPageToken(std::string_view query, std::string_view token) {
  if (token.empty()) {
    return std::string();
  }
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(absl::string_view(token.data(), token.size()), &bytes) ||
      bytes.size() < 8) {
    return BadPageToken();
  }
  std::string key = bytes.substr(8);
  if (bytes.substr(0, 8) != Checksum(query, key)) {
    return BadPageToken();
  }
  return key;
}

absl::StatusOr<int64_t> ReadPageToken(std::string_view query, std::string_view token,
                                      int64_t first) {
  MERCER_ASSIGN_OR_RETURN(const std::string key, ReadPageToken(query, token));
  int64_t number = first;
  return key.empty() || absl::SimpleAtoi(key, &number) ? absl::StatusOr<int64_t>(number)
                                                       : BadPageToken();
}

absl::StatusOr<int> EffectivePageSize(const PageRequest& page) {
  if (page.size < 0) {
    return WithReason(absl::InvalidArgumentError(absl::StrCat("must be >= 0, is ", page.size)),
                      "BAD_PAGE_SIZE", {{"page_size", absl::StrCat(page.size)}});
  }
  return page.size == 0 ? kDefaultPageSize : std::min(page.size, kMaxPageSize);
}

}  // namespace mercer::server
