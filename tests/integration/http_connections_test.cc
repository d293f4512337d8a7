// How many connections one address may hold over HTTP, as the server sets it up.
#include <memory>
#include <sys/resource.h>
#include <vector>

#include "tests/integration/access_fixture.h"
#include "tests/support/server/http_client.h"

namespace mercer::server {
namespace {

// Half of these files are for gRPC, half of that number for HTTP, half of that for one address.
constexpr rlim_t kFiles = 256;
constexpr int kMostOfAll = 64;
constexpr int kMostOfOne = 32;

class HttpConnectionsTest : public AccessTest {
 protected:
  // As where a process may have few files; the clients here have theirs in the same process.
  void StartWithFewFiles() {
    rlimit before = {};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few = {kFiles, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    Start();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  }
  // Opens connections that stay, each of which is served.
  void Hold(int count, const char* from) {
    for (int i = 0; i < count; ++i) {
      held_.push_back(std::make_unique<HttpClient>(server_->http_port(), HttpSource{from}));
      ASSERT_EQ(held_.back()->Get("/v1/learners").status, 200) << i << " from " << from;
    }
  }
  HttpReply Ask(const char* from, const char* path) const {
    return HttpClient(server_->http_port(), HttpSource{from}).Get(path);
  }

  std::vector<std::unique_ptr<HttpClient>> held_;
};

TEST_F(HttpConnectionsTest, OneAddressGetsHalfBeyondLoopback) {
  options_.http = "0.0.0.0:0";
  options_.access.insecure = true;
  StartWithFewFiles();
  Hold(kMostOfOne, "127.0.0.2");
  const HttpReply refused = Ask("127.0.0.2", "/v1/learners");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.Find("Retry-After"), "");
  EXPECT_NE(refused.body.find("TOO_MANY_CONNECTIONS"), std::string::npos) << refused.body;
  EXPECT_EQ(Ask("127.0.0.2", "/healthz").status, 200);
  EXPECT_EQ(Ask("127.0.0.3", "/v1/learners").status, 200);
}

// As gRPC: who is on this machine may have all.
TEST_F(HttpConnectionsTest, OnLoopbackOneAddressMayHaveAll) {
  StartWithFewFiles();
  Hold(kMostOfAll, "127.0.0.1");
  EXPECT_EQ(Ask("127.0.0.1", "/v1/learners").status, 503);
  EXPECT_EQ(Ask("127.0.0.1", "/healthz").status, 200);
}

}  // namespace
}  // namespace mercer::server
