// Who may see the metrics.
#include <string>

#include <gmock/gmock.h>

#include "tests/integration/access_fixture.h"
#include "tests/support/server/http_client.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;

class HttpMetricsTest : public AccessTest {
 protected:
  HttpReply Ask(const std::string& token) const {
    HttpClient client(server_->http_port());
    return client.Get("/metrics", token.empty()
                                      ? HttpHeaders{}
                                      : HttpHeaders{{"Authorization", "Bearer " + token}});
  }
};

TEST_F(HttpMetricsTest, AreForWhoeverMayRead) {
  AddToken("prometheus", "read");
  AddToken("robot", "predict");
  Start();
  EXPECT_EQ(Ask("").status, 401);
  EXPECT_EQ(Ask("wrong").status, 401);
  EXPECT_EQ(Ask("secret-robot").status, 403);
  const HttpReply reply = Ask("secret-prometheus");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Find("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(reply.body, HasSubstr("mercer_build_info{version=\""));
}

TEST_F(HttpMetricsTest, AreForEverybodyWhenToldSo) {
  AddToken("prometheus", "read");
  options_.access.metrics_open = true;
  Start();
  EXPECT_EQ(Ask("").status, 200);
}

TEST_F(HttpMetricsTest, CountRefusedCallsToo) {
  AddToken("prometheus", "read");
  Start();
  EXPECT_EQ(HttpClient(server_->http_port()).Get("/v1/jobs").status, 401);
  EXPECT_THAT(
      Ask("secret-prometheus").body,
      HasSubstr(
          "mercer_calls_total{code=\"UNAUTHENTICATED\",method=\"TrainingService/ListJobs\"} 1"));
}

}  // namespace
}  // namespace mercer::server
