// TLS as clients meet it: who connects, who does not, and new certificates while calls go on.
#include <arpa/inet.h>
#include <atomic>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "client/cpp/channel.h"
#include "client/cpp/client.h"
#include "tests/integration/access_fixture.h"
#include "tests/support/server/certificates.h"

namespace mercer::server {
namespace {

constexpr char kHost[] = "mercer.test";

class TlsServerTest : public AccessTest {
 protected:
  TlsServerTest() : authority_("authority of the test") {
    options_.access.tls.certificate = folder_ / "server.pem";
    options_.access.tls.key = folder_ / "server.key";
    Install(authority_.Issue(kHost));
  }

  void Install(const PemPair& pair) const {
    std::ofstream(options_.access.tls.certificate) << pair.certificate;
    std::ofstream(options_.access.tls.key) << pair.key;
  }
  client::Security Trusting(const TestAuthority& authority) const {
    client::Security security;
    security.tls = true;
    security.authorities = authority.certificate();
    security.server_name = kHost;
    return security;
  }
  // What a list of the data sets brings a client that makes one attempt.
  absl::Status List(const client::Security& security, int attempts = 1) const {
    client::ClientOptions options{.address = server_->address(), .security = security};
    options.retry.max_attempts = attempts;
    return client::Client(options).ListDatasets(1).status();
  }
  // A connection without a word, until the server closes it. False when that fails.
  bool IsClosedWithoutAWord() const {
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bool closed =
        connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    char bytes[256];
    ssize_t got = 1;
    while (closed && got > 0) {  // the server's own first words
      got = read(connection, bytes, sizeof(bytes));
    }
    close(connection);
    return closed;
  }

  TestAuthority authority_;
};

TEST_F(TlsServerTest, ClientsCheckTheAuthorityAndTheName) {
  Start();
  EXPECT_TRUE(List(Trusting(authority_)).ok());
  client::Security other_name = Trusting(authority_);
  other_name.server_name = "other.test";
  EXPECT_EQ(List(other_name).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(List(Trusting(TestAuthority("somebody else"))).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(List(client::Security()).code(), absl::StatusCode::kUnavailable) << "plain text";
  EXPECT_TRUE(List(Trusting(authority_)).ok()) << "nothing of that has harmed the others";
}

TEST_F(TlsServerTest, TokensTravelOverTls) {
  AddToken("ada", "read");
  Start();
  client::Security security = Trusting(authority_);
  EXPECT_EQ(List(security).code(), absl::StatusCode::kUnauthenticated);
  security.token = "secret-ada";
  EXPECT_TRUE(List(security).ok());
}

TEST_F(TlsServerTest, WithAnAuthorityForClientsAllMustShowACertificateOfIt) {
  options_.access.tls.client_ca = folder_ / "clients.pem";
  std::ofstream(options_.access.tls.client_ca) << authority_.certificate();
  Start();
  client::Security security = Trusting(authority_);
  EXPECT_EQ(List(security).code(), absl::StatusCode::kUnavailable);
  const PemPair stranger = TestAuthority("somebody else").Issue("client");
  security.certificate = stranger.certificate;
  security.key = stranger.key;
  EXPECT_EQ(List(security).code(), absl::StatusCode::kUnavailable);
  const PemPair known = authority_.Issue("client");
  security.certificate = known.certificate;
  security.key = known.key;
  EXPECT_TRUE(List(security).ok());
}

TEST_F(TlsServerTest, CertificatesAreReplacedWhileCallsGoOn) {
  Start();
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::thread caller([&] {
    client::Client open({.address = server_->address(), .security = Trusting(authority_)});
    while (!stop) {
      const absl::Status status = open.ListDatasets(1).status();
      EXPECT_TRUE(status.ok()) << status;
      ++calls;
    }
  });
  TestAuthority next("the next authority");
  const PemPair pair = next.Issue(kHost);
  // Half of the pair, as an operator who copies one file after the other leaves it for a moment.
  std::ofstream(options_.access.tls.key) << pair.key;
  server_->ReloadAccess();
  EXPECT_TRUE(List(Trusting(authority_)).ok()) << "the pair that does not fit is not used";
  EXPECT_FALSE(List(Trusting(next)).ok());
  Install(pair);
  server_->ReloadAccess();
  const absl::Time limit = absl::Now() + absl::Minutes(1);
  while (!List(Trusting(next)).ok() && absl::Now() < limit) {
  }
  EXPECT_TRUE(List(Trusting(next)).ok());
  const int calls_before = calls;
  while (calls < calls_before + 3 && absl::Now() < limit) {
    std::this_thread::yield();
  }
  stop = true;
  caller.join();
  const std::string log = StopAndReadLog();
  EXPECT_THAT(log, testing::HasSubstr("the certificates stay as they were"));
  EXPECT_THAT(log, testing::HasSubstr("new certificates are in use"));
}

TEST_F(TlsServerTest, WhoSaysNothingIsShownOut) {
  constexpr int kAttempts = 5;  // beside other programs an honest handshake may take too long, too
  options_.access.handshake_limit = absl::Seconds(1);
  Start();
  EXPECT_TRUE(IsClosedWithoutAWord());
  EXPECT_TRUE(List(Trusting(authority_), kAttempts).ok());
  DrainServer();
  options_.access.tls = {};
  Start();
  EXPECT_TRUE(IsClosedWithoutAWord()) << "in plain text";
  EXPECT_TRUE(List(client::Security(), kAttempts).ok());
}

TEST_F(TlsServerTest, NoTokenLeavesTheMachineInPlainText) {
  client::Security security;
  security.token = "secret-ada";
  EXPECT_TRUE(client::CheckSecurity("127.0.0.1:7345", security).ok());
  EXPECT_TRUE(client::CheckSecurity("localhost:7345", security).ok());
  EXPECT_TRUE(client::CheckSecurity("[::1]:7345", security).ok());
  for (const char* address : {"10.0.0.1:7345", "example.org:7345", "0.0.0.0:7345", "[::]:7345",
                              "127.0.0.1.example.org:7345", "localhost.example.org:7345"}) {
    EXPECT_EQ(client::CheckSecurity(address, security).code(), absl::StatusCode::kInvalidArgument);
  }
  security.tls = true;
  EXPECT_TRUE(client::CheckSecurity("example.org:7345", security).ok());
  // A client that did not ask: its calls fail, and reach nobody.
  options_.access.tls = {};
  options_.access.insecure = true;
  options_.listen = "0.0.0.0:0";
  Start();
  security.tls = false;
  EXPECT_EQ(List(security).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(List(client::Security()).ok());
}

}  // namespace
}  // namespace mercer::server
