// What somebody without a token can make a server hold in memory.
#include <string>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "tests/hostile/hostile_fixture.h"
#include "tests/support/server/http_client.h"

namespace mercer::server {
namespace {

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

}  // namespace
}  // namespace mercer::server
