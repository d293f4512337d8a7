// A call waits from the moment that gRPC begins it until it has come to the server's own code, be there memory for it there or
// not: one that would wait for ever would make every connection look like a flood.
#include <memory>
#include <new>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "server/rpc/rpc_service.h"
#include "tests/support/exhaustion/failing_allocations.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

thread_local bool has_memory = true;
bool HasMemory() { return has_memory; }

// While it lives, the current thread is given no memory.
class NoMemory {
 public:
  NoMemory() { has_memory = false; }
  ~NoMemory() { has_memory = true; }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;

 private:
  const FailingAllocations failing_{SeldomFailures{.one_in = 1, .spares = HasMemory}};
};

// Two methods; there is no memory for a call of the second.
class TwoMethods final : public RpcService {
 public:
  explicit TwoMethods(const RpcEnvironment& environment) : RpcService(environment) {
    const auto refuse = [this](grpc::CallbackServerContext* context) -> ServerCall* {
      return new RefusedCall(environment_, context, {StatusCode::ABORTED, ""});
    };
    Register("/Test/Good", refuse);
    Register("/Test/Bad", [refuse](grpc::CallbackServerContext* context) {
      const NoMemory no_memory;
      return refuse(context);
    });
  }
};

// The status of a call without a request.
grpc::Status CallMethod(const std::shared_ptr<grpc::Channel>& channel, const std::string& path) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
  grpc::Status status;
  const auto call = stub.PrepareUnaryCall(&context, path, request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  return status;
}

TEST(ArrivalAllocationFailureTest, CallWithoutMemoryWaitsNoLonger) {
  const RpcEnvironment environment;
  TwoMethods service(environment);
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const std::shared_ptr<grpc::Channel> channel = server->InProcessChannel({});
  environment.connections->NoteBegin();
  EXPECT_EQ(CallMethod(channel, "/Test/Good").error_code(), StatusCode::ABORTED);
  EXPECT_EQ(environment.connections->waiting_calls(), 0);
  environment.connections->NoteBegin();
  EXPECT_EQ(CallMethod(channel, "/Test/Bad").error_code(),
            StatusCode::UNIMPLEMENTED);  // gRPC's own
  EXPECT_EQ(environment.connections->waiting_calls(), 0);
  server->Shutdown();
  server->Wait();
}

TEST(ArrivalAllocationFailureTest, CallOfAnUnknownMethodWithoutMemoryWaitsNoLonger) {
  const RpcEnvironment environment;
  UnknownMethods methods(environment);
  grpc::GenericCallbackServerContext context;
  environment.connections->NoteBegin();
  const auto create = [&] {
    const NoMemory no_memory;
    return methods.CreateReactor(&context);
  };
  EXPECT_THROW(create(), std::bad_alloc);
  EXPECT_EQ(environment.connections->waiting_calls(), 0);
}

}  // namespace
}  // namespace mercer::server
