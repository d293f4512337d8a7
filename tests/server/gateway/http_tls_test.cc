// HTTP within TLS: who may connect, and certificates that change while the port is open.
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "server/gateway/http_server.h"
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

}  // namespace
}  // namespace mercer::gateway
