#include "server/net/peer_host.h"

#include <netinet/in.h>

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

}  // namespace mercer::server
