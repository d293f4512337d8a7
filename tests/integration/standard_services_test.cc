// What every gRPC tool expects of a server: health checks and reflection.
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/generic/generic_stub.h>

#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

// Debian ships no header for these services. HealthCheckRequest is a text as field 1, its response an
// enum as field 1: the same bytes as these.
using HealthRequest = google::protobuf::StringValue;
using HealthResponse = google::protobuf::Int32Value;
constexpr int kServing = 1;
constexpr int kNotServing = 2;

// A stream of messages of any type, read one by one.
template <typename Request, typename Response>
class TestStream final : public grpc::ClientBidiReactor<Request, Response> {
 public:
  TestStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
             const Request& request, std::unique_ptr<Response> response)
      : stub_(channel), request_(request), response_(std::move(response)) {
    stub_.PrepareBidiStreamingCall(&context_, method, grpc::StubOptions(), this);
    this->AddHold();  // no end of the call between two reads
    this->StartWriteLast(&request_, grpc::WriteOptions());
    this->StartCall();
  }
  ~TestStream() override {
    this->RemoveHold();
    done_.WaitForNotification();
  }

  // Blocks; null at the end.
  const Response* Read() {
    {
      absl::MutexLock lock(&mutex_);
      has_read_ = false;
    }
    this->StartRead(response_.get());
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&has_read_));
    return read_ok_ ? response_.get() : nullptr;
  }

 private:
  void OnReadDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    read_ok_ = ok;
    has_read_ = true;
  }
  void OnDone(const grpc::Status&) override { done_.Notify(); }

  grpc::TemplatedGenericStub<Request, Response> stub_;
  grpc::ClientContext context_;
  const Request& request_;
  const std::unique_ptr<Response> response_;
  absl::Mutex mutex_;
  bool has_read_ = false;
  bool read_ok_ = false;
  absl::Notification done_;
};

class StandardServicesTest : public ServerTest {
 protected:
  // The status, or the negative code of the error.
  int CheckHealth(const std::string& service) {
    grpc::TemplatedGenericStub<HealthRequest, HealthResponse> stub(channel_);
    grpc::ClientContext context;
    HealthRequest request;
    request.set_value(service);
    HealthResponse response;
    grpc::Status status;
    absl::Notification done;
    stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(), &request,
                   &response, [&](grpc::Status end) {
                     status = std::move(end);
                     done.Notify();
                   });
    done.WaitForNotification();
    return status.ok() ? response.value() : -status.error_code();
  }
};

TEST_F(StandardServicesTest, HealthOfTheServerAndOfEachServiceIsServing) {
  StartServer();
  for (const char* service :
       {"", "mercer.v1.DatasetService", "mercer.v1.TrainingService", "mercer.v1.ModelService",
        "mercer.v1.PredictionService", "mercer.v1.AdminService", "mercer.v1.ServerService"}) {
    EXPECT_EQ(CheckHealth(service), kServing) << service;
  }
  EXPECT_EQ(CheckHealth("mercer.v1.NoService"), -grpc::StatusCode::NOT_FOUND);
}

TEST_F(StandardServicesTest, WatchersOfHealthHearOfTheDrain) {
  StartServer();
  HealthRequest request;
  request.set_value("mercer.v1.TrainingService");
  TestStream<HealthRequest, HealthResponse> watch(channel_, "/grpc.health.v1.Health/Watch", request,
                                                  std::make_unique<HealthResponse>());
  const HealthResponse* response = watch.Read();
  ASSERT_NE(response, nullptr);
  EXPECT_EQ(response->value(), kServing);
  std::thread drain([this] { server_->Drain(); });
  response = watch.Read();
  EXPECT_TRUE(response != nullptr && response->value() == kNotServing);
  EXPECT_EQ(watch.Read(), nullptr);
  drain.join();
}

TEST_F(StandardServicesTest, ReflectionListsTheServices) {
  using google::protobuf::Message;
  StartServer();
  const auto make = [](const std::string& name) {
    const google::protobuf::Descriptor* descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
            "grpc.reflection.v1alpha." + name);
    EXPECT_NE(descriptor, nullptr) << name;
    return std::unique_ptr<Message>(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
  };
  const auto ask = [&](const std::string& text) {
    const std::unique_ptr<Message> request = make("ServerReflectionRequest");
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, request.get()));
    TestStream<Message, Message> stream(
        channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", *request,
        make("ServerReflectionResponse"));
    const Message* response = stream.Read();
    const std::string answer = response == nullptr ? "" : response->ShortDebugString();
    EXPECT_EQ(stream.Read(), nullptr);
    return answer;
  };
  const std::string services = ask("list_services: ''");
  for (const char* service :
       {"mercer.v1.DatasetService", "mercer.v1.TrainingService", "mercer.v1.ModelService",
        "mercer.v1.PredictionService", "mercer.v1.AdminService", "mercer.v1.ServerService",
        "grpc.health.v1.Health"}) {
    EXPECT_THAT(services, testing::HasSubstr('"' + std::string(service) + '"'));
  }
  EXPECT_THAT(ask("file_containing_symbol: 'mercer.v1.TrainRequest'"),
              testing::HasSubstr("class_weights"));
  // Tools that check health by reflection alone look up the service, and call it with what they find.
  EXPECT_THAT(ask("file_containing_symbol: 'grpc.health.v1.Health'"),
              testing::HasSubstr("HealthCheckRequest"));
}

}  // namespace
}  // namespace mercer::server
