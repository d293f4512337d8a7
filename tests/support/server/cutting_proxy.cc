#include "tests/support/server/cutting_proxy.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace mercer::server {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool SendAll(int socket, const char* bytes, ssize_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes += sent;
    size -= sent;
  }
  return true;
}

// Until one side ends or `limit` bytes (negative: any number) have passed; true when it was the limit.
bool Pump(int from, int to, int64_t limit, std::atomic<int64_t>& passed) {
  std::array<char, 65536> buffer;
  while (limit < 0 || passed < limit) {
    const ssize_t size = recv(from, buffer.data(), buffer.size(), 0);
    if (size <= 0) {
      return false;
    }
    const ssize_t allowed =
        limit < 0 ? size : static_cast<ssize_t>(std::min<int64_t>(size, limit - passed));
    if (!SendAll(to, buffer.data(), allowed)) {
      return false;
    }
    passed += size;
  }
  return true;
}

}  // namespace

struct CuttingProxy::Connection {
  int client = -1;
  int server = -1;
  std::atomic<int64_t> passed = 0;    // to the server
  std::atomic<int64_t> answered = 0;  // to the client
  std::thread thread;

  std::mutex mutex;  // guards against a cut of what is closed already

  void Cut() {
    const std::lock_guard lock(mutex);
    shutdown(client, SHUT_RDWR);
    shutdown(server, SHUT_RDWR);
  }
  // Both sides hear of it at once, even one that waits to write: what it wrote last is refused.
  void Close() {
    const std::lock_guard lock(mutex);
    close(std::exchange(client, -1));
    close(std::exchange(server, -1));
  }
  ~Connection() {
    Cut();
    if (thread.joinable()) {
      thread.join();
    }
  }
};

CuttingProxy::CuttingProxy(std::function<int()> target, std::function<int64_t()> next_cut)
    : target_(std::move(target)), next_cut_(std::move(next_cut)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  const bool listens =
      bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      listen(listener_, 16) == 0 &&
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  port_ = listens ? ntohs(address.sin_port) : 0;
  thread_ = std::thread([this] { Listen(); });
}

CuttingProxy::~CuttingProxy() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
  connections_.clear();
}

int CuttingProxy::cuts() const {
  const std::lock_guard lock(mutex_);
  return cuts_;
}

std::vector<int64_t> CuttingProxy::passed() const {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> passed;
  for (const std::unique_ptr<Connection>& connection : connections_) {
    passed.push_back(connection->passed);
  }
  return passed;
}

void CuttingProxy::Listen() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (stopping_ || client < 0) {
      if (client >= 0) {
        close(client);
      }
      return;
    }
    Connection& connection = *connections_.emplace_back(std::make_unique<Connection>());
    connection.client = client;
    connection.server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connection.thread = std::thread([this, &connection] { Serve(connection); });
  }
}

void CuttingProxy::Serve(Connection& connection) {
  const sockaddr_in address = Loopback(target_());
  if (connect(connection.server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0) {
    connection.Close();
    return;
  }
  std::thread answers([&connection] {
    Pump(connection.server, connection.client, -1, connection.answered);
    connection.Cut();
  });
  if (Pump(connection.client, connection.server, next_cut_(), connection.passed)) {
    const std::lock_guard lock(mutex_);
    ++cuts_;
  }
  connection.Cut();
  answers.join();
  connection.Close();
}

}  // namespace mercer::server
