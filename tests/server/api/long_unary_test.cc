// Calls that wait for a thread end without one.

#include <thread>

#include "absl/synchronization/notification.h"

#include "server/rpc/rpc_service.h"
#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

// Verifies as soon as the test says so, which is never.
class HeldModelRpcs final : public RpcService {
 public:
  HeldModelRpcs(const RpcEnvironment& environment, Executor& executor) : RpcService(environment) {
    LongUnary<v1::VerifyModelRequest>(
        "ModelService/VerifyModel", executor,
        [](const v1::VerifyModelRequest&,
           const CancellationToken&) -> absl::StatusOr<v1::VerifyModelResponse> {
          ADD_FAILURE() << "nobody waits for this any more";
          return v1::VerifyModelResponse();
        });
  }
};

// Whose work is done, and the call gone, before Post returns. Posted to once.
class EagerExecutor final : public Executor {
 public:
  explicit EagerExecutor(CallTracker& calls) : calls_(calls) {}
  ~EagerExecutor() override { returned_.WaitForNotification(); }

  void Post(absl::AnyInvocable<void()> work) override {
    work();
    EXPECT_TRUE(calls_.WaitForCalls(absl::InfiniteDuration()));
    absl::SleepFor(absl::Milliseconds(50));  // its memory is given back soon after it has ended
    returned_.Notify();
  }

 private:
  CallTracker& calls_;
  absl::Notification returned_;
};

// Answers at once.
class EagerTrainingRpcs final : public RpcService {
 public:
  EagerTrainingRpcs(const RpcEnvironment& environment, Executor& executor)
      : RpcService(environment) {
    LongUnary<v1::TrainRequest>(
        "TrainingService/Train", executor,
        [](const v1::TrainRequest&, const CancellationToken&) -> absl::StatusOr<v1::Job> {
          return v1::Job();
        });
  }
};

class LongUnaryTest : public ApiTest {
 protected:
  LongUnaryTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    held_server_ = builder.BuildAndStart();
    stub_ = v1::ModelService::NewStub(held_server_->InProcessChannel({}));
  }
  // Calls, ends the call by `end` while it waits, and answers what the client hears.
  grpc::Status CallAndEnd(const std::function<void(grpc::ClientContext&)>& end) {
    grpc::ClientContext context;
    grpc::Status status;
    std::thread client([&] {
      v1::VerifyModelRequest request;
      request.set_name("models/m");
      v1::VerifyModelResponse response;
      status = stub_->VerifyModel(&context, request, &response);
    });
    held_.WaitForWork();
    end(context);
    // The work is held all the time.
    EXPECT_TRUE(environment_.calls->WaitForCalls(absl::InfiniteDuration()));
    client.join();
    held_.RunAll();
    return status;
  }

  HeldExecutor held_;
  HeldModelRpcs service_{environment_, held_};
  std::unique_ptr<grpc::Server> held_server_;
  std::unique_ptr<v1::ModelService::Stub> stub_;
};

TEST_F(LongUnaryTest, CancelledCallEndsWhileItWaits) {
  const grpc::Status status = CallAndEnd([](grpc::ClientContext& context) { context.TryCancel(); });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(LongUnaryTest, DrainThatWaitsNoLongerEndsACallThatWaits) {
  const grpc::Status status = CallAndEnd([this](grpc::ClientContext&) {
    environment_.calls->Drain();
    environment_.calls->Cancel();
  });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), "DRAINING");
}

// Shown by a sanitizer: a call is touched no more once its work is posted.
TEST_F(LongUnaryTest, CallMayHaveGoneBeforePostReturns) {
  EagerExecutor executor(*environment_.calls);
  EagerTrainingRpcs service(environment_, executor);
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  grpc::ClientContext context;
  // So large that another thread than gRPC's own, which would keep the call, posts its work.
  v1::TrainRequest request = CloudsRequest();
  request.mutable_learner()->mutable_lp_mkl()->mutable_kernels(0)->mutable_bandwidths()->Resize(
      20'000, 1);
  v1::Job response;
  const grpc::Status status = v1::TrainingService::NewStub(server->InProcessChannel({}))
                                  ->Train(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace mercer::server
