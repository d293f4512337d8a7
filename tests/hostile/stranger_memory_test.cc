// What somebody without a token can make a server hold in memory.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "mercer/v1/training_service.pb.h"
#include "tests/hostile/hostile_fixture.h"
#include "tests/support/server/http_client.h"

namespace mercer::server {
namespace {

// A request to train, in JSON of so many bytes.
std::string EmptyKernels(size_t bytes) {
  std::string json = R"({"learner":{"lpMkl":{"kernels":[{})";
  while (json.size() < bytes) {
    json += ",{}";
  }
  return json + "]}}}";
}

class StrangerMemoryTest : public HostileTest {
 protected:
  // Sends 256 MiB of `piece` behind `head`, or as much as the server takes before it ends the connection.
  void SendWithoutEnd(const std::string& head, const std::string& piece) const {
    HttpClient client(http_port());
    ASSERT_TRUE(client.SendText(head));
    for (size_t sent = 0; sent < size_t{256} << 20 && client.SendText(piece);
         sent += piece.size()) {
    }
  }
};

TEST_F(StrangerMemoryTest, MessagesThatGrowWhenTheyAreInflatedAreRefused) {
  const grpc::ByteBuffer message = MessageOf(std::string(size_t{60} << 20, '\0'));
  for (const char* path :
       {"/mercer.v1.TrainingService/Train", "/mercer.v1.TrainingService/WatchJobs",
        "/mercer.v1.DatasetService/UploadDataset", "/grpc.health.v1.Health/Check"}) {
    for (const auto compression : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
      const grpc::Status status =
          CallRaw(NewChannel(), {.path = path, .message = message, .compression = compression});
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED)
          << path << ": " << status.error_message();
    }
  }
  ExpectPeakWithin(int64_t{48} << 20);
  ExpectHealthy();
}

TEST_F(StrangerMemoryTest, NothingOfARequestIsReadBeforeItsCallerIsKnown) {
  // A message of 31 million empty kernels.
  std::string kernels;
  for (size_t i = 0; i < size_t{62} << 20; i += 2) {
    kernels += std::string("\x0a\x00", 2);
  }
  v1::TrainRequest learner;
  learner.mutable_learner()->mutable_lp_mkl();
  const google::protobuf::Reflection* const fields = learner.GetReflection();
  fields->MutableUnknownFields(learner.mutable_learner())
      ->AddLengthDelimited(v1::Learner::kLpMklFieldNumber, kernels);
  const grpc::ByteBuffer message = MessageOf(learner.SerializeAsString());
  for (const char* method : {"TrainingService/Train", "TrainingService/WatchJobs",
                             "ModelService/GetModel", "PredictionService/Predict"}) {
    for (int i = 0; i < 4; ++i) {
      const grpc::Status status =
          CallRaw(NewChannel(), {.path = absl::StrCat("/mercer.v1.", method), .message = message});
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << Log();
    }
  }
  ExpectPeakWithin(int64_t{64} << 20);
  // Nor does what it becomes cost the memory of somebody who may call.
  const Headers authorization = {{"authorization", absl::StrCat("Bearer ", token())}};
  const grpc::Status status = CallRaw(
      NewChannel(),
      {.path = "/mercer.v1.TrainingService/Train", .message = message, .headers = authorization});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  ExpectPeakWithin(int64_t{256} << 20);
  ExpectHealthy();
}

TEST_F(StrangerMemoryTest, NoBodyIsReadBeforeItsCallerIsKnown) {
  const std::string kernels = EmptyKernels(size_t{16} << 20);
  const std::string head = absl::StrCat(
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: ",
      kernels.size(), "\r\n");
  // Forty who send nearly all of it and wait would hold the memory for all bodies.
  std::vector<std::unique_ptr<HttpClient>> waiting;
  for (int i = 0; i < 40; ++i) {
    waiting.push_back(std::make_unique<HttpClient>(http_port()));
    waiting.back()->SendText(head + "\r\n" + kernels.substr(0, kernels.size() - 1));
  }
  ExpectPeakWithin(int64_t{64} << 20);
  const HttpHeaders authorization = {{"Authorization", absl::StrCat("Bearer ", token())}};
  EXPECT_EQ(HttpClient(http_port()).Get("/v1/jobs", authorization).status, 200);
  // Nor does somebody who may call send more than his call needs.
  HttpClient sender(http_port());
  sender.SendText(absl::StrCat(head, "Authorization: Bearer ", token(), "\r\n\r\n", kernels));
  EXPECT_EQ(sender.Read().status, 413);
  EXPECT_EQ(
      HttpClient(http_port()).Post("/v1/jobs", EmptyKernels(size_t{3} << 20), authorization).status,
      429);
  ExpectPeakWithin(int64_t{64} << 20);
  ExpectHealthy();
}

TEST_F(StrangerMemoryTest, ChunkExtensionsAndTrailersAreNotKept) {
  const std::string head =
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  const std::string endless(size_t{1} << 20, 'x');
  SendWithoutEnd(head + "5;", endless);
  SendWithoutEnd(head + "0\r\nX: ", endless);
  SendWithoutEnd(head + "0\r\n", "X: y\r\n" + endless + ": z\r\n");
  ExpectPeakWithin(int64_t{32} << 20);
  ExpectHealthy();
}

TEST_F(StrangerMemoryTest, RefusedRequestsLeaveNothingBehind) {
  constexpr int kSenders = 8;
  const int requests = 3000;
  std::vector<std::thread> senders;
  for (int i = 0; i < kSenders; ++i) {
    senders.emplace_back([this, requests] {
      HttpClient sender(http_port());
      int refused = 0;
      for (int request = 0; request < requests; ++request) {
        refused += sender.Get("/v1/jobs").status == 401 ? 1 : 0;
      }
      EXPECT_EQ(refused, requests);
    });
  }
  for (std::thread& sender : senders) {
    sender.join();
  }
  ExpectPeakWithin(int64_t{8} << 20);
  ExpectHealthy();
}

}  // namespace
}  // namespace mercer::server
