// HTTP within TLS: who may connect, and certificates that change while the port is open.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/gateway/http/http_server.h"
#include "tests/support/server/certificates.h"
#include "tests/support/server/http_client.h"

namespace mercer::gateway {
namespace {

using server::PemPair;
using server::TestAuthority;

class HttpTlsTest : public testing::Test {
 protected:
  HttpTlsTest() {
    auto server = HttpServer::Open(HttpServerOptions());
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void Start() {
    server_->Start(
        [](const std::shared_ptr<Exchange>& exchange) {
          Answer answer;
          answer.body = std::string(300'000, 'x');
          exchange->Send(std::move(answer));
        },
        nullptr);
  }
  TlsIdentity IdentityOf(const PemPair& pair, const std::string& client_ca = "") const {
    return {pair.certificate, pair.key, client_ca};
  }

  TestAuthority authority_{"authority"};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpTlsTest, AnswersComeThroughIt) {
  ASSERT_TRUE(server_->SetTls(IdentityOf(authority_.Issue("localhost"))).ok());
  Start();
  HttpClient client(server_->port(), {authority_.certificate(), "", ""});
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.Get("/").body.size(), 300'000u);
  EXPECT_EQ(client.Get("/").body.size(), 300'000u);
  HttpClient plain(server_->port());
  EXPECT_EQ(plain.Get("/").status, 0);
  const TestAuthority other("other");
  EXPECT_FALSE(HttpClient(server_->port(), {other.certificate(), "", ""}).connected());
}

TEST_F(HttpTlsTest, ClientsShowACertificateWhereOneIsAskedFor) {
  TestAuthority clients("clients");
  ASSERT_TRUE(
      server_->SetTls(IdentityOf(authority_.Issue("localhost"), clients.certificate())).ok());
  Start();
  const PemPair own = clients.Issue("ada");
  HttpClient known(server_->port(), {authority_.certificate(), own.certificate, own.key});
  EXPECT_EQ(known.Get("/").status, 200);
  HttpClient stranger(server_->port(), {authority_.certificate(), "", ""});
  EXPECT_EQ(stranger.Get("/").status, 0);
  const PemPair foreign = authority_.Issue("ada");
  HttpClient of_another(server_->port(),
                        {authority_.certificate(), foreign.certificate, foreign.key});
  EXPECT_EQ(of_another.Get("/").status, 0);
}

TEST_F(HttpTlsTest, NewConnectionsGetTheNewCertificate) {
  ASSERT_TRUE(server_->SetTls(IdentityOf(authority_.Issue("localhost"))).ok());
  Start();
  HttpClient before(server_->port(), {authority_.certificate(), "", ""});
  EXPECT_EQ(before.Get("/").status, 200);
  TestAuthority next("next");
  ASSERT_TRUE(server_->SetTls(IdentityOf(next.Issue("localhost"))).ok());
  EXPECT_EQ(before.Get("/").status, 200);
  EXPECT_EQ(HttpClient(server_->port(), {next.certificate(), "", ""}).Get("/").status, 200);
  EXPECT_FALSE(HttpClient(server_->port(), {authority_.certificate(), "", ""}).connected());
}

TEST_F(HttpTlsTest, BrokenCertificatesChangeNothing) {
  const PemPair good = authority_.Issue("localhost");
  ASSERT_TRUE(server_->SetTls(IdentityOf(good)).ok());
  Start();
  const PemPair other = authority_.Issue("localhost");
  for (const TlsIdentity& broken : {TlsIdentity{"", "", ""}, TlsIdentity{"no PEM", "no PEM", ""},
                                    TlsIdentity{good.certificate, other.key, ""},
                                    TlsIdentity{good.certificate, good.key, "no PEM"}}) {
    EXPECT_EQ(GetReason(server_->SetTls(broken)), "BAD_CERTIFICATE");
  }
  EXPECT_EQ(HttpClient(server_->port(), {authority_.certificate(), "", ""}).Get("/").status, 200);
}

// Else a client without the length of an answer could not tell a whole one from one that somebody has cut.
class HttpTlsEndTest : public HttpTlsTest {
 protected:
  void StartWith(const HttpServerOptions& options, HttpServer::Handler handler) {
    auto server = HttpServer::Open(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ASSERT_TRUE(server_->SetTls(IdentityOf(authority_.Issue("localhost"))).ok());
    server_->Start(std::move(handler), nullptr);
  }
  std::unique_ptr<HttpClient> Connect() const {
    return std::make_unique<HttpClient>(server_->port(), HttpTls{authority_.certificate(), "", ""});
  }
  static void Greet(const std::shared_ptr<Exchange>& exchange) {
    Answer answer;
    answer.body = "hello";
    exchange->Send(std::move(answer));
  }
};

TEST_F(HttpTlsEndTest, IsSaidAfterTheLastAnswer) {
  StartWith(HttpServerOptions(), Greet);
  const auto client = Connect();
  EXPECT_EQ(client->Get("/", {{"Connection", "close"}}).body, "hello");
  EXPECT_TRUE(client->EndsInOrder());
}

TEST_F(HttpTlsEndTest, IsSaidBetweenTwoRequests) {
  HttpServerOptions options;
  options.limits.idle = absl::Milliseconds(1);
  StartWith(options, Greet);
  const auto idle = Connect();
  EXPECT_EQ(idle->Get("/").body, "hello");
  EXPECT_TRUE(idle->EndsInOrder());
  options.limits.idle = absl::Hours(1);
  StartWith(options, Greet);
  const auto stopped = Connect();
  EXPECT_EQ(stopped->Get("/").body, "hello");
  server_->Stop(absl::Minutes(1));
  EXPECT_TRUE(stopped->EndsInOrder());
}

TEST_F(HttpTlsEndTest, IsNotSaidWhereSomethingIsMissing) {
  StartWith(HttpServerOptions(), [](const std::shared_ptr<Exchange>& exchange) {
    exchange->Begin({200, {}, std::nullopt});
    exchange->Write("begun", [exchange](bool) { exchange->End(/*whole=*/false); });
  });
  const auto client = Connect();
  client->SendText("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client->ReadHead().status, 200);
  EXPECT_FALSE(client->EndsInOrder());
}

// The answer comes before the body has been sent, which nobody reads.
TEST_F(HttpTlsEndTest, ComesThroughToAClientThatIsStillSending) {
  StartWith(HttpServerOptions(), Greet);
  const auto client = Connect();
  EXPECT_EQ(client->Post("/", std::string(3'000'000, 'x')).body, "hello");
  EXPECT_TRUE(client->EndsInOrder());
}

TEST_F(HttpTlsEndTest, WaitsForTheClientsOwnForAMomentOnly) {
  HttpServerOptions options;
  options.max_connections = 1;
  options.limits.linger = absl::Milliseconds(1);
  StartWith(options, [](const std::shared_ptr<Exchange>& exchange) {
    Answer answer;
    answer.body = exchange->peer().spare ? "spare" : "usual";
    exchange->Send(std::move(answer));
  });
  const auto silent = Connect();
  EXPECT_EQ(silent->Get("/", {{"Connection", "close"}}).body, "usual");
  const absl::Time limit = absl::Now() + absl::Minutes(1);
  std::string body;
  while (body != "usual" && absl::Now() < limit) {
    body = Connect()->Get("/").body;
  }
  EXPECT_EQ(body, "usual") << "the first connection still has its place";
}

}  // namespace
}  // namespace mercer::gateway
