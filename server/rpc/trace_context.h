// The trace that a call belongs to, as W3C Trace Context has it in the metadata "traceparent".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <grpcpp/server_context.h>

namespace mercer::server {

// The trace id of a header such as "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": 32
// lower-case hexadecimal digits. None when the header is not one: a client's mistake there is no reason
// to refuse its call.
std::optional<std::string> ParseTraceParent(std::string_view header);

// Empty: the call names no trace, or several.
std::string TraceIdOf(const grpc::CallbackServerContext& context);

}  // namespace mercer::server
