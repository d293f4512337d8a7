#include "tests/network/raw_client.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace mercer::server {
namespace {

constexpr char kHeadersFrame = 1;
constexpr char kSettingsFrame = 4;
constexpr char kEndOfHeaders = 4;

// RFC 7541, 6.2.2: a literal header field without indexing, with a new name, in plain text.
std::string Literal(std::string_view name, std::string_view value) {
  std::string field(1, '\0');
  field.push_back(static_cast<char>(name.size()));
  field.append(name);
  field.push_back(static_cast<char>(value.size()));
  field.append(value);
  return field;
}

// Reads what there is. False: the connection is closed.
bool ReadAll(int socket) {
  std::array<char, 4096> bytes;
  ssize_t size = 0;
  while ((size = recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
  }
  return size < 0 && errno == EAGAIN;
}

}  // namespace

RawClient::RawClient(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(std::exchange(socket_, -1));
  }
}

RawClient::~RawClient() {
  if (socket_ >= 0) {
    close(socket_);
  }
}

RawClient::RawClient(RawClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

bool RawClient::Send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool RawClient::Hear() const {
  char byte = 0;
  return recv(socket_, &byte, 1, 0) == 1;
}

bool RawClient::IsClosedWithin(absl::Duration limit) const {
  const absl::Time deadline = absl::Now() + limit;
  while (ReadAll(socket_)) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return false;
    }
    pollfd polled = {socket_, POLLIN, 0};
    poll(&polled, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
  }
  return true;
}

int RawClient::Drip(std::string_view bytes, absl::Duration pause, int most) const {
  int taken = 0;
  while (taken < most && Send(bytes.substr(static_cast<size_t>(taken) % bytes.size(), 1)) &&
         !IsClosedWithin(pause)) {
    ++taken;
  }
  return taken;
}

std::string RawClient::Greeting() {
  return absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Frame(kSettingsFrame, 0, 0, ""));
}

std::string RawClient::Frame(char type, char flags, int stream, std::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) {
    frame.push_back(static_cast<char>((payload.size() >> shift) & 0xff));
  }
  frame.push_back(type);
  frame.push_back(flags);
  for (const int shift : {24, 16, 8, 0}) {
    frame.push_back(static_cast<char>((stream >> shift) & 0xff));
  }
  return frame.append(payload);
}

std::string RawClient::CallHeaders(std::string_view path) {
  return Frame(
      kHeadersFrame, kEndOfHeaders, 1,
      absl::StrCat(Literal(":method", "POST"), Literal(":scheme", "http"), Literal(":path", path),
                   Literal(":authority", "localhost"), Literal("te", "trailers"),
                   Literal("content-type", "application/grpc")));
}

}  // namespace mercer::server
