#include "server/net/peer_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <gtest/gtest.h>

namespace mercer::server {
namespace {

sockaddr_storage AddressOf(const char* text) {
  sockaddr_storage address = {};
  auto& six = reinterpret_cast<sockaddr_in6&>(address);
  auto& four = reinterpret_cast<sockaddr_in&>(address);
  if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1) {
    address.ss_family = AF_INET6;
  } else {
    EXPECT_EQ(inet_pton(AF_INET, text, &four.sin_addr), 1) << text;
    address.ss_family = AF_INET;
  }
  six.sin6_port = htons(40000);  // at the same place in both
  return address;
}

TEST(PeerHostTest, NamesAreThoseOfGrpc) {
  EXPECT_EQ(PeerName(AddressOf("10.0.0.1")), "ipv4:10.0.0.1:40000");
  EXPECT_EQ(PeerName(AddressOf("::ffff:10.0.0.1")), "ipv4:10.0.0.1:40000");
  EXPECT_EQ(PeerName(AddressOf("2001:db8::1")), "ipv6:%5B2001:db8::1%5D:40000");
  sockaddr_storage link = AddressOf("fe80::1");
  reinterpret_cast<sockaddr_in6&>(link).sin6_scope_id = 2;
  EXPECT_EQ(PeerName(link), "ipv6:%5Bfe80::1%252%5D:40000");
}

TEST(PeerHostTest, IsAHostAndNotOneOfItsAddresses) {
  const auto peer = [](const char* text) { return PeerHost(AddressOf(text)); };
  EXPECT_EQ(peer("2001:db8:1:2::1"), peer("2001:db8:1:2:ffff::9"));
  EXPECT_NE(peer("2001:db8:1:2::1"), peer("2001:db8:1:3::1"));
  EXPECT_NE(peer("10.0.0.1"), peer("10.0.0.2"));
  EXPECT_EQ(peer("10.0.0.1"), peer("::ffff:10.0.0.1"));
}

}  // namespace
}  // namespace mercer::server
