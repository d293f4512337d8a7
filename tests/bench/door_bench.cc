// What the server's door adds to a unary call over loopback: the listener with its guard, calls that are streams of bytes to gRPC, the
// question who calls, and the record of the call. The handler is the same and does nothing.
//   plain: gRPC listens by itself, and a service that protoc has generated answers on gRPC's own threads.
//   door: the server's front, which answers on the same threads.
//   door and pool: the server's front with the pool for what may wait, as all methods but a few have it.
// Beside each other in turn, so that all see the same machine. Prints one JSON object per line: microseconds, and their ratio to plain.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include <grpcpp/grpcpp.h>

#include "mercer/v1/training_service.grpc.pb.h"
#include "server/app/grpc_front.h"
#include "server/rpc/rpc_service.h"

namespace mercer::server {
namespace {

constexpr int kWarmUp = 2000;
constexpr int kCalls = 20'000;

class PlainService final : public v1::TrainingService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request, v1::Job* job) override {
    job->set_name(request->name());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

class DoorService final : public RpcService {
 public:
  DoorService(const RpcEnvironment& environment, Executor& executor) : RpcService(environment) {
    Unary<v1::GetJobRequest>("TrainingService/GetJob", executor,
                             [](const v1::GetJobRequest& request) -> absl::StatusOr<v1::Job> {
                               v1::Job job;
                               job.set_name(request.name());
                               return job;
                             });
  }
};

class HereExecutor final : public Executor {
 public:
  void Post(absl::AnyInvocable<void()> work) override { work(); }
};

// A front with the door's service, and all that it needs.
struct Door {
  explicit Door(const ServerOptions& options, Executor& executor) {
    environment.io = &executor;
    environment.intake = &executor;
    services.push_back(std::make_unique<DoorService>(environment, executor));
    auto opened =
        GrpcFront::Open(options, grpc::InsecureServerCredentials(), environment, services);
    if (!opened.ok()) {
      std::fprintf(stderr, "%s\n", std::string(opened.status().message()).c_str());
      std::exit(1);
    }
    front = *std::move(opened);
  }

  RpcEnvironment environment;
  GrpcFront::Services services;
  std::unique_ptr<GrpcFront> front;
};

class Caller {
 public:
  Caller(std::string name, const std::string& address) : name_(std::move(name)) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1::TrainingService::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    request_.set_name("jobs/j-1");
  }

  double Call() {
    grpc::ClientContext context;
    v1::Job job;
    const absl::Time start = absl::Now();
    const grpc::Status status = stub_->GetJob(&context, request_, &job);
    const double microseconds = absl::ToDoubleMicroseconds(absl::Now() - start);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", name_.c_str(), status.error_message().c_str());
      std::exit(1);
    }
    return microseconds;
  }
  void Measure() { times_.push_back(Call()); }
  double Quantile(double share) {
    const auto place =
        times_.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times_.size()));
    std::nth_element(times_.begin(), place, times_.end());
    return *place;
  }
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  std::unique_ptr<v1::TrainingService::Stub> stub_;
  v1::GetJobRequest request_;
  std::vector<double> times_;
};

int Run() {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  PlainService plain_service;
  int port = 0;
  const std::unique_ptr<grpc::ServerBuilder> builder = NewServerBuilder(options);
  builder->AddListeningPort(options.listen, grpc::InsecureServerCredentials(), &port);
  builder->RegisterService(&plain_service);
  const std::unique_ptr<grpc::Server> plain = builder->BuildAndStart();
  HereExecutor here;
  ThreadPool pool(4);
  const Door door(options, here);
  const Door door_and_pool(options, pool);
  std::vector<Caller> callers;
  callers.emplace_back("plain", "127.0.0.1:" + std::to_string(port));
  callers.emplace_back("door", door.front->address());
  callers.emplace_back("door and pool", door_and_pool.front->address());
  for (int i = 0; i < kWarmUp + kCalls; ++i) {
    for (Caller& caller : callers) {
      i < kWarmUp ? static_cast<void>(caller.Call()) : caller.Measure();
    }
  }
  for (Caller& caller : callers) {
    std::printf(
        R"({"call": "%s", "median_us": %.1f, "p99_us": %.1f, "ratio": %.2f, "p99_ratio": %.2f})"
        "\n",
        caller.name().c_str(), caller.Quantile(0.5), caller.Quantile(0.99),
        caller.Quantile(0.5) / callers[0].Quantile(0.5),
        caller.Quantile(0.99) / callers[0].Quantile(0.99));
  }
  plain->Shutdown();
  return 0;
}

}  // namespace
}  // namespace mercer::server

int main() { return mercer::server::Run(); }
