// What the metadata of a call say: who sends it, and which trace it belongs to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <grpcpp/server_context.h>

namespace mercer::server {

// Metadata of calls that this process makes for somebody else: a key that only the process knows, a space, and the address of
// whom it calls for.
inline constexpr char kPeerMetadata[] = "mercer-peer";

// All values of the key, as they came.
std::vector<std::string_view> MetadataOf(const grpc::ServerContextBase& context, const char* key);

// "ipv4:127.0.0.1:40000". What kPeerMetadata says is believed of those who know `key`; empty: of nobody.
std::string PeerOf(const grpc::ServerContextBase& context, const std::string& key);

// The trace id of a header of W3C Trace Context such as "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": 32
// lower-case hexadecimal digits. None when the header is not one: a client's mistake there is no reason
// to refuse its call.
std::optional<std::string> ParseTraceParent(std::string_view header);

// That of the metadata "traceparent". Empty: the call names no trace, or several.
std::string TraceIdOf(const grpc::ServerContextBase& context);

}  // namespace mercer::server
