// The gRPC services, ready to be registered. They live in several files, because the generated code is
// slow to compile.
#pragma once

#include <memory>

#include <grpcpp/impl/codegen/service_type.h>

#include "server/api/api_context.h"
#include "server/prediction/model_cache.h"
#include "server/rpc/rpc.h"

namespace mercer::server {

// `environment`, `context` and `cache` outlive the services, and the services outlive the gRPC
// server.
std::unique_ptr<grpc::Service> MakeDatasetService(const RpcEnvironment& environment,
                                                  const ApiContext& context);
std::unique_ptr<grpc::Service> MakeTrainingService(const RpcEnvironment& environment,
                                                   const ApiContext& context);
std::unique_ptr<grpc::Service> MakeModelService(const RpcEnvironment& environment,
                                                const ApiContext& context, ModelCache& cache);
std::unique_ptr<grpc::Service> MakePredictionService(const RpcEnvironment& environment,
                                                     const ApiContext& context, ModelCache& cache);
std::unique_ptr<grpc::Service> MakeAdminService(const RpcEnvironment& environment,
                                                const ApiContext& context);
std::unique_ptr<grpc::Service> MakeServerService(const RpcEnvironment& environment,
                                                 const ApiContext& context);

}  // namespace mercer::server
