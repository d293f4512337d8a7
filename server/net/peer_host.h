// Who is at the other end of a connection, for limits that each host has for itself.
#pragma once

#include <string>
#include <sys/socket.h>

namespace mercer::server {

// An IPv4 address, or the first 64 bits of an IPv6 address, of which one host has all that follow. Not for reading.
std::string PeerHost(const sockaddr_storage& address);

// Address and port as gRPC writes them: "ipv4:127.0.0.1:40000", "ipv6:%5B::1%5D:40000"; an IPv4 address within an IPv6 one is the
// former.
std::string PeerName(const sockaddr_storage& address);

}  // namespace mercer::server
