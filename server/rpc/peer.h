// Where a call comes from.
#pragma once

#include <string>

#include <grpcpp/server_context.h>

namespace mercer::server {

// Metadata of calls that this process makes for somebody else: a key that only the process knows, a space, and the address of
// whom it calls for.
inline constexpr char kPeerMetadata[] = "mercer-peer";

// A new key: 32 hexadecimal digits. Empty: the system has no randomness to give; nobody is believed then.
std::string NewPeerKey();

// "ipv4:127.0.0.1:40000". What kPeerMetadata says is believed of those who know `key`; empty: of nobody.
std::string PeerOf(const grpc::ServerContextBase& context, const std::string& key);

}  // namespace mercer::server
