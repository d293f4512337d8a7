// Who is at the other end of a connection, for limits that each host has for itself.
#pragma once

#include <string>
#include <sys/socket.h>

namespace mercer::server {

// An IPv4 address, or the first 64 bits of an IPv6 address, of which one host has all that follow. Not for reading.
std::string PeerHost(const sockaddr_storage& address);

}  // namespace mercer::server
