// What the server asks of gRPC's transport, and the services of gRPC's own that it offers.
#pragma once

#include <cstdint>
#include <memory>

#include <grpcpp/server_builder.h>

#include "server/app/server_options.h"

namespace mercer::server {

// The names that health checks may ask for, besides the empty one of the whole server.
inline constexpr const char* kServices[] = {
    "mercer.v1.DatasetService",    "mercer.v1.TrainingService", "mercer.v1.ModelService",
    "mercer.v1.PredictionService", "mercer.v1.AdminService",    "mercer.v1.ServerService"};

// Bytes for what clients have sent and no call has taken yet, with answers on their way; and as many for requests that have
// been parsed.
int64_t ReceiveMemory(const ServerOptions& options);

// A builder with limits and keep-alive; with reflection and channelz, which pass by the
// door, where `options` want them.
std::unique_ptr<grpc::ServerBuilder> NewServerBuilder(const ServerOptions& options);

}  // namespace mercer::server
