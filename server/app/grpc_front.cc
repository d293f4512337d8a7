#include "server/app/grpc_front.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/status/status_macros.h"
#include "server/app/transport.h"

namespace mercer::server {
namespace {

// Counts the calls that gRPC begins: it asks for a context as soon as the headers of a call have
// come. All contexts are its own.
class BeginCounter final : public grpc::ContextAllocator {
 public:
  // `connections` outlives it.
  explicit BeginCounter(ConnectionLoads& connections) : connections_(connections) {}

  grpc::CallbackServerContext* NewCallbackServerContext() override {
    connections_.NoteBegin();
    return nullptr;
  }
  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override {
    connections_.NoteBegin();
    return nullptr;
  }

 private:
  ConnectionLoads& connections_;
};

}  // namespace

GrpcFront::GrpcFront(const RpcEnvironment& environment)
    : health_(environment, {std::begin(kServices), std::end(kServices)}),
      unknown_methods_(environment) {}

absl::StatusOr<std::unique_ptr<GrpcFront>> GrpcFront::Open(
    const ServerOptions& options, const std::shared_ptr<grpc::ServerCredentials>& credentials,
    const RpcEnvironment& environment, const Services& services) {
  auto front = std::unique_ptr<GrpcFront>(new GrpcFront(environment));
  MERCER_ASSIGN_OR_RETURN(
      front->listener_,
      Listener::Open(options.listen, LimitsOfConnections(IsLoopback(options.listen)),
                     *environment.connections, environment.log));
  const std::unique_ptr<grpc::ServerBuilder> builder = NewServerBuilder(options);
  builder->SetContextAllocator(std::make_unique<BeginCounter>(*environment.connections));
  auto acceptor = builder->experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  for (const std::unique_ptr<grpc::Service>& service : services) {
    builder->RegisterService(service.get());
  }
  builder->RegisterService(&front->health_);
  builder->RegisterCallbackGenericService(&front->unknown_methods_);
  front->server_ = builder->BuildAndStart();
  if (front->server_ == nullptr) {
    return absl::InternalError("gRPC cannot start");
  }
  front->listener_->Start(std::move(acceptor));
  front->address_ = absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":",
                                 front->listener_->port());
  return front;
}

GrpcFront::~GrpcFront() { Stop(absl::ZeroDuration()); }

void GrpcFront::BeginDrain() { health_.SetServing(false); }

void GrpcFront::Stop(absl::Duration grace) {
  if (server_ == nullptr) {
    return;
  }
  listener_->Stop();
  server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
  server_->Wait();
}

}  // namespace mercer::server
