#include "server/net/peer_host.h"

#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>

#include "absl/strings/str_cat.h"

namespace mercer::server {

std::string PeerHost(const sockaddr_storage& address) {
  constexpr size_t kNetworkBytes = 8;
  if (address.ss_family == AF_INET) {
    const auto& ip = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    return {reinterpret_cast<const char*>(&ip), sizeof(ip)};
  }
  if (address.ss_family == AF_INET6) {
    const auto& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    const auto* const bytes = reinterpret_cast<const char*>(&ip);
    return IN6_IS_ADDR_V4MAPPED(&ip)
               ? std::string(bytes + sizeof(ip) - sizeof(in_addr), sizeof(in_addr))
               : std::string(bytes, kNetworkBytes);
  }
  return "";
}

std::string PeerName(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
    return absl::StrCat("ipv4:", text.data(), ":", ntohs(four.sin_port));
  }
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  if (address.ss_family != AF_INET6) {
    return "";
  }
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
    inet_ntop(AF_INET, &six.sin6_addr.s6_addr[12], text.data(), text.size());
    return absl::StrCat("ipv4:", text.data(), ":", ntohs(six.sin6_port));
  }
  inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
  const std::string zone =
      six.sin6_scope_id == 0 ? "" : absl::StrCat("%25", six.sin6_scope_id);  // "%" in an address
  return absl::StrCat("ipv6:%5B", text.data(), zone, "%5D:", ntohs(six.sin6_port));
}

}  // namespace mercer::server
