#include "server/app/grpc_front.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <grpcpp/health_check_service_interface.h>

#include "core/base/status_macros.h"
#include "server/app/transport.h"

namespace mercer::server {

absl::StatusOr<std::unique_ptr<GrpcFront>> GrpcFront::Open(
    const ServerOptions& options, const std::shared_ptr<grpc::ServerCredentials>& credentials,
    const Services& services) {
  MERCER_ASSIGN_OR_RETURN(
      std::unique_ptr<Listener> listener,
      Listener::Open(options.listen, LimitsOfConnections(IsLoopback(options.listen))));
  const std::unique_ptr<grpc::ServerBuilder> builder = NewServerBuilder(options);
  auto acceptor = builder->experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  for (const std::unique_ptr<grpc::Service>& service : services) {
    builder->RegisterService(service.get());
  }
  std::unique_ptr<grpc::Server> server = builder->BuildAndStart();
  if (server == nullptr) {
    return absl::InternalError("gRPC cannot start");
  }
  for (const char* service : kServices) {
    server->GetHealthCheckService()->SetServingStatus(service, true);
  }
  server->GetHealthCheckService()->SetServingStatus(true);
  listener->Start(std::move(acceptor));
  std::string address =
      absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":", listener->port());
  return std::unique_ptr<GrpcFront>(
      new GrpcFront(std::move(listener), std::move(server), std::move(address)));
}

GrpcFront::GrpcFront(std::unique_ptr<Listener> listener, std::unique_ptr<grpc::Server> server,
                     std::string address)
    : listener_(std::move(listener)), server_(std::move(server)), address_(std::move(address)) {}

GrpcFront::~GrpcFront() { Stop(absl::ZeroDuration()); }

void GrpcFront::BeginDrain() { server_->GetHealthCheckService()->SetServingStatus(false); }

void GrpcFront::Stop(absl::Duration grace) {
  listener_->Stop();
  server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
  server_->Wait();
}

}  // namespace mercer::server
