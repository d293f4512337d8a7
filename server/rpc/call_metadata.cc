#include "server/rpc/call_metadata.h"

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include <openssl/crypto.h>

namespace mercer::server {

std::vector<std::string_view> MetadataOf(const grpc::ServerContextBase& context, const char* key) {
  std::vector<std::string_view> values;
  const auto [begin, end] = context.client_metadata().equal_range(key);
  for (auto entry = begin; entry != end; ++entry) {
    values.emplace_back(entry->second.data(), entry->second.size());
  }
  return values;
}

std::string PeerOf(const grpc::ServerContextBase& context, const std::string& key) {
  const std::vector<std::string_view> values = MetadataOf(context, kPeerMetadata);
  if (key.empty() || values.size() != 1) {
    return context.peer();
  }
  const std::string_view value = values[0];
  const bool known = value.size() > key.size() + 1 && value[key.size()] == ' ' &&
                     CRYPTO_memcmp(value.data(), key.data(), key.size()) == 0;
  return known ? std::string(value.substr(key.size() + 1)) : context.peer();
}

std::optional<std::string> ParseTraceParent(std::string_view header) {
  constexpr size_t kDigits[] = {2, 32, 16, 2};  // of version, trace, span and flags
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(header.data(), header.size()), absl::MaxSplits('-', 4));
  // Version 00 ends with the flags; later ones may go on after a dash.
  if (parts.size() < 4 || parts[0] == "ff" || (parts[0] == "00" && parts.size() > 4)) {
    return std::nullopt;
  }
  for (size_t i = 0; i < 4; ++i) {
    if (parts[i].size() != kDigits[i] ||
        parts[i].find_first_not_of("0123456789abcdef") != std::string::npos) {
      return std::nullopt;
    }
  }
  const auto is_zero = [](const std::string& part) {
    return part.find_first_not_of('0') == std::string::npos;
  };
  return is_zero(parts[1]) || is_zero(parts[2]) ? std::nullopt : std::optional(parts[1]);
}

std::string TraceIdOf(const grpc::ServerContextBase& context) {
  const std::vector<std::string_view> values = MetadataOf(context, "traceparent");
  return values.size() == 1 ? ParseTraceParent(values[0]).value_or("") : "";
}

}  // namespace mercer::server
