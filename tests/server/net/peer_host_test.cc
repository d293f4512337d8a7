#include "server/net/peer_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <gtest/gtest.h>

namespace mercer::server {
namespace {

TEST(PeerHostTest, IsAHostAndNotOneOfItsAddresses) {
  const auto peer = [](const char* text) {
    sockaddr_storage address = {};
    auto& six = reinterpret_cast<sockaddr_in6&>(address);
    auto& four = reinterpret_cast<sockaddr_in&>(address);
    if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1) {
      address.ss_family = AF_INET6;
    } else {
      EXPECT_EQ(inet_pton(AF_INET, text, &four.sin_addr), 1) << text;
      address.ss_family = AF_INET;
    }
    return PeerHost(address);
  };
  EXPECT_EQ(peer("2001:db8:1:2::1"), peer("2001:db8:1:2:ffff::9"));
  EXPECT_NE(peer("2001:db8:1:2::1"), peer("2001:db8:1:3::1"));
  EXPECT_NE(peer("10.0.0.1"), peer("10.0.0.2"));
  EXPECT_EQ(peer("10.0.0.1"), peer("::ffff:10.0.0.1"));
}

}  // namespace
}  // namespace mercer::server
