#include "server/rpc/peer.h"

#include <array>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include <openssl/crypto.h>
#include <openssl/rand.h>

namespace mercer::server {

std::string NewPeerKey() {
  std::array<unsigned char, 16> bytes = {};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return "";
  }
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string PeerOf(const grpc::ServerContextBase& context, const std::string& key) {
  const auto [begin, end] = context.client_metadata().equal_range(kPeerMetadata);
  if (key.empty() || begin == end || std::next(begin) != end) {
    return context.peer();
  }
  const absl::string_view value(begin->second.data(), begin->second.size());
  const bool known = value.size() > key.size() + 1 && value[key.size()] == ' ' &&
                     CRYPTO_memcmp(value.data(), key.data(), key.size()) == 0;
  return known ? std::string(value.substr(key.size() + 1)) : context.peer();
}

}  // namespace mercer::server
