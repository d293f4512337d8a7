#include "server/gateway/http/url.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"

#include "core/base/status/errors.h"
#include "core/base/status/utf8.h"
#include "server/gateway/http/http_message.h"

namespace mercer::gateway {

std::optional<std::string> DecodePercents(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const absl::string_view digits(text.data() + i + 1, std::min<size_t>(text.size() - i - 1, 2));
      if (digits.size() < 2 || !std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit)) {
        return std::nullopt;
      }
      decoded += absl::HexStringToBytes(digits);
      i += 2;
    } else {
      decoded.push_back(text[i] == '+' && plus_is_space ? ' ' : text[i]);
    }
  }
  return decoded;
}

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

std::string_view QueryOf(std::string_view target) {
  return target.substr(std::min(PathOf(target).size() + 1, target.size()));
}

absl::StatusOr<Parameters> ParseQuery(std::string_view query) {
  Parameters parameters;
  for (const absl::string_view part : absl::StrSplit(View(query), '&', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    auto name = DecodePercents(pair.first, true);
    auto value = DecodePercents(pair.second, true);
    if (!name.has_value() || !value.has_value() || !IsUtf8(*name) || !IsUtf8(*value)) {
      return WithReason(absl::InvalidArgumentError("the query is not coded as in URLs, in UTF-8"),
                        "BAD_QUERY");
    }
    parameters.emplace_back(*std::move(name), *std::move(value));
  }
  return parameters;
}

}  // namespace mercer::gateway
