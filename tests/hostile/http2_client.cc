#include "tests/hostile/http2_client.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

namespace mercer::server {
namespace {

std::string BigEndian(uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) {
    text += static_cast<char>(value >> (8 * i));
  }
  return text;
}

// A header field that is not kept; name and value are shorter than 127 bytes (RFC 7541, 6.2.2).
std::string Literal(absl::string_view name, absl::string_view value) {
  return absl::StrCat(std::string(1, '\0'), std::string(1, static_cast<char>(name.size())), name,
                      std::string(1, static_cast<char>(value.size())), value);
}

// One that is (RFC 7541, 6.2.1).
std::string KeptLiteral(absl::string_view name, absl::string_view value) {
  std::string literal = Literal(name, value);
  literal[0] = '\x40';
  return literal;
}

}  // namespace

Http2Client::Http2Client(const std::string& address) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  uint32_t port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) << address;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in from = {};
  from.sin_family = AF_INET;
  EXPECT_EQ(inet_pton(AF_INET, "127.0.0.2", &from.sin_addr), 1);
  EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&from), sizeof(from)), 0);
  EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  Send(absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Frame(kSettings, kNone, 0, "")));
}

Http2Client::~Http2Client() { close(socket_); }

std::string Http2Client::Frame(Type type, uint8_t flags, uint32_t stream,
                               absl::string_view payload) {
  return absl::StrCat(BigEndian(static_cast<uint32_t>(payload.size()), 3), BigEndian(type, 1),
                      BigEndian(flags, 1), BigEndian(stream, 4), payload);
}

std::string Http2Client::CallHeaders(absl::string_view path, absl::string_view token) {
  return absl::StrCat(
      "\x83\x86",  // :method POST, :scheme http
      Literal(":path", path), Literal(":authority", "localhost"),
      Literal("content-type", "application/grpc"), Literal("te", "trailers"),
      token.empty() ? "" : Literal("authorization", absl::StrCat("Bearer ", token)));
}

std::string Http2Client::KeptHeaders(absl::string_view path, absl::string_view token) {
  return absl::StrCat(
      "\x83\x86", KeptLiteral(":path", path), KeptLiteral(":authority", "localhost"),
      KeptLiteral("content-type", "application/grpc"), KeptLiteral("te", "trailers"),
      KeptLiteral("authorization", absl::StrCat("Bearer ", token)));
}

// The table's own entries come first, 61 of them; then the latest that was kept.
std::string Http2Client::HeadersAgain() { return "\x83\x86\xc2\xc1\xc0\xbf\xbe"; }

std::string Http2Client::ResetCalls(absl::string_view headers, uint32_t piece) {
  std::string bytes;
  for (uint32_t i = 0; i < 100; ++i) {
    const uint32_t stream = 2 * (100 * piece + i) + 1;
    bytes += Frame(kHeaders, kEndHeaders, stream, headers);
    bytes += Frame(kReset, 0, stream, std::string("\0\0\0\x8", 4));
  }
  return bytes;
}

bool Http2Client::IsAnswered() {
  char byte = 0;
  return recv(socket_, &byte, 1, 0) == 1;
}

bool Http2Client::Send(absl::string_view bytes) {
  std::array<char, 1 << 16> answer;
  while (!bytes.empty()) {
    pollfd ready = {socket_, POLLIN | POLLOUT, 0};
    if (poll(&ready, 1, -1) < 0) {
      continue;
    }
    if ((ready.revents & POLLIN) != 0 && recv(socket_, answer.data(), answer.size(), 0) <= 0) {
      return false;
    }
    if ((ready.revents & POLLOUT) != 0) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN) {
        return false;
      }
      bytes.remove_prefix(sent < 0 ? 0 : static_cast<size_t>(sent));
    } else if ((ready.revents & (POLLERR | POLLHUP)) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace mercer::server
