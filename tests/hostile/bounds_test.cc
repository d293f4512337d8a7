// Bounds of docs/security.md that no other test has.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include "tests/hostile/hostile_fixture.h"
#include "tests/hostile/http2_client.h"

namespace mercer::server {
namespace {

// A watch of the server's health that goes on.
class OpenWatch {
 public:
  explicit OpenWatch(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {
    call_ = stub_.PrepareCall(&context_, "/grpc.health.v1.Health/Watch", &queue_);
    call_->StartCall(this);
    Wait();
    call_->Write(MessageOf(""), this);
    Wait();
    call_->Read(&answer_, this);
    Wait();
  }
  ~OpenWatch() {
    context_.TryCancel();
    grpc::Status status;
    call_->Finish(&status, this);
    Wait();
    queue_.Shutdown();
  }

 private:
  void Wait() {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::ByteBuffer answer_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

class BoundsTest : public HostileTest {
 protected:
  // Whether health checks of a connection are answered with `code` before long; `meanwhile` follows each that is not.
  static bool HealthComesToBe(
      grpc::StatusCode code, const std::shared_ptr<grpc::Channel>& channel,
      const std::function<void()>& meanwhile = [] {}) {
    const absl::Time end = absl::Now() + absl::Seconds(30);
    while (absl::Now() < end) {
      const RawCall call = {.path = "/grpc.health.v1.Health/Check", .message = MessageOf("")};
      if (CallRaw(channel, call).error_code() == code) {
        return true;
      }
      meanwhile();
      absl::SleepFor(absl::Milliseconds(10));  // calls without a pause would be a flood
    }
    return false;
  }
};

TEST_F(BoundsTest, HealthChecksHaveTheirOwn) {
  constexpr uint32_t kClients = 4;
  constexpr uint32_t kWatches = 300;  // of each; more at once would be a flood
  const std::string headers = Http2Client::CallHeaders("/grpc.health.v1.Health/Watch");
  const auto send_watch = [&headers](Http2Client& client, uint32_t i) {
    const uint32_t stream = 2 * i + 1;
    return client.Send(
        Http2Client::Frame(Http2Client::kHeaders, Http2Client::kEndHeaders, stream, headers) +
        Http2Client::Frame(Http2Client::kData, Http2Client::kEndStream, stream,
                           std::string(5, '\0')));
  };
  std::vector<std::unique_ptr<Http2Client>> clients;
  for (uint32_t c = 0; c < kClients; ++c) {
    clients.push_back(std::make_unique<Http2Client>(address()));
    for (uint32_t i = 0; i < kWatches; ++i) {
      ASSERT_TRUE(send_watch(*clients.back(), i));
    }
  }
  // A connection's first check is always answered; whoever has one already must wait for a place.
  const auto channel = NewChannel();
  const OpenWatch watch(channel);
  // A check that is answered while the places fill up holds one of them, and leaves it to the next check: so the flood goes on.
  uint32_t next = kWatches;
  EXPECT_TRUE(HealthComesToBe(grpc::StatusCode::RESOURCE_EXHAUSTED, channel, [&] {
    EXPECT_TRUE(send_watch(*clients.back(), next++));
  })) << Log();
  ExpectHealthy();
  clients.clear();
  EXPECT_TRUE(HealthComesToBe(grpc::StatusCode::OK, channel)) << Log();
}

}  // namespace
}  // namespace mercer::server
