#include "server/net/listening_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

ListeningSockets OpenAt(const std::string& address) {
  auto sockets = ListeningSockets::Open(address, absl::ZeroDuration());
  EXPECT_TRUE(sockets.ok()) << sockets.status();
  return sockets.ok() ? *std::move(sockets) : ListeningSockets();
}

// Whether somebody listens there.
bool Connects(int family, int port) {
  sockaddr_storage address = {};
  address.ss_family = static_cast<sa_family_t>(family);
  auto& four = reinterpret_cast<sockaddr_in&>(address);
  auto& six = reinterpret_cast<sockaddr_in6&>(address);
  if (family == AF_INET6) {
    six.sin6_addr = in6addr_loopback;
    six.sin6_port = htons(static_cast<uint16_t>(port));
  } else {
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    four.sin_port = htons(static_cast<uint16_t>(port));
  }
  const int client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected =
      connect(client, reinterpret_cast<const sockaddr*>(&address),
              family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in)) == 0;
  close(client);
  return connected;
}

bool MachineHasIpv6() { return ListeningSockets::Open("[::1]:0", absl::ZeroDuration()).ok(); }

TEST(ListeningSocketsTest, ClientsConnectUntilTheyAreClosed) {
  ListeningSockets first = OpenAt("127.0.0.1:0");
  EXPECT_TRUE(Connects(AF_INET, first.port()));
  ListeningSockets second = std::move(first);
  EXPECT_TRUE(
      first.sockets().empty());  // NOLINT(bugprone-use-after-move): that is what it promises
  EXPECT_TRUE(Connects(AF_INET, second.port()));
  const int port = second.port();
  second.Close();
  EXPECT_FALSE(Connects(AF_INET, port));
  second.Close();
}

TEST(ListeningSocketsTest, ReleasedOnesAreSomebodyElses) {
  std::vector<int> released;
  {
    ListeningSockets sockets = OpenAt("127.0.0.1:0");
    released = sockets.Release();
  }
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(fcntl(released[0], F_GETFD), FD_CLOEXEC);
  EXPECT_NE(fcntl(released[0], F_GETFL) & O_NONBLOCK, 0);
  close(released[0]);
}

TEST(ListeningSocketsTest, PortThatIsTakenIsRefused) {
  const ListeningSockets first = OpenAt("127.0.0.1:0");
  const auto second =
      ListeningSockets::Open(absl::StrCat("127.0.0.1:", first.port()), absl::ZeroDuration());
  EXPECT_EQ(GetReason(second.status()), "ADDRESS_IN_USE") << second.status();
}

TEST(ListeningSocketsTest, AddressThatIsNotHereIsRefusedForWhatIsWrongWithIt) {
  const auto unknown = ListeningSockets::Open("no.such.host.invalid:0", absl::ZeroDuration());
  EXPECT_EQ(GetReason(unknown.status()), "HOST_NOT_FOUND") << unknown.status();
  // An address of the block that documents use (RFC 5737): no machine has it.
  const auto elsewhere = ListeningSockets::Open("192.0.2.1:0", absl::ZeroDuration());
  EXPECT_EQ(GetReason(elsewhere.status()), "ADDRESS_NOT_AVAILABLE") << elsewhere.status();
}

TEST(ListeningSocketsTest, LocalhostIsTheLoopbackInterface) {
  const ListeningSockets sockets = OpenAt("LocalHost:0");
  EXPECT_TRUE(Connects(AF_INET, sockets.port()));
  EXPECT_EQ(Connects(AF_INET6, sockets.port()), MachineHasIpv6());
}

TEST(ListeningSocketsTest, EveryAddressMeansBothFamilies) {
  if (!MachineHasIpv6()) {
    GTEST_SKIP() << "the machine has no IPv6";
  }
  for (const char* host : {"[::]", ""}) {
    const ListeningSockets sockets = OpenAt(absl::StrCat(host, ":0"));
    EXPECT_TRUE(Connects(AF_INET, sockets.port())) << "'" << host << "'";
    EXPECT_TRUE(Connects(AF_INET6, sockets.port())) << "'" << host << "'";
  }
  const ListeningSockets one = OpenAt("[::1]:0");
  EXPECT_FALSE(Connects(AF_INET, one.port()));
}

TEST(ListeningSocketsTest, TimeoutIsThatOfConnections) {
  const auto timeout_of = [](absl::Duration wanted) {
    const auto sockets = ListeningSockets::Open("127.0.0.1:0", wanted);
    int milliseconds = -1;
    socklen_t size = sizeof(milliseconds);
    EXPECT_TRUE(sockets.ok());
    EXPECT_EQ(
        getsockopt(sockets->sockets().at(0), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, &size),
        0);
    return milliseconds;
  };
  EXPECT_EQ(timeout_of(absl::Seconds(10)), 10'000);
  EXPECT_EQ(timeout_of(absl::ZeroDuration()), 0);
}

}  // namespace
}  // namespace mercer::server
