#include "tests/support/server/network_proxy.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <deque>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace mercer::server {
namespace {

constexpr int64_t kFlowBytes = 64 << 10;
constexpr int kSocketBytes = 32 << 10;
constexpr absl::Duration kWaitPatience = absl::Minutes(1);
// A narrow link sends so many bytes at once at least, so that it does not wake for each.
constexpr int64_t kLeastPortion = 512;

sockaddr_in LoopbackAt(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void SetSocketOption(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof(value));
}

// Small buffers are for the counts: what has gone into a socket has passed.
void SetUp(int socket) {
  SetSocketOption(socket, SOL_SOCKET, SO_RCVBUF, kSocketBytes);
  SetSocketOption(socket, SOL_SOCKET, SO_SNDBUF, kSocketBytes);
  SetSocketOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

void CloseSocket(int& socket, NetworkProxy::Ending ending) {
  if (socket < 0) {
    return;
  }
  if (ending == NetworkProxy::Ending::kReset) {
    const linger at_once = {1, 0};
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  } else {
    shutdown(socket, SHUT_RDWR);
  }
  close(std::exchange(socket, -1));
}

}  // namespace

// Bytes on their way in one direction.
struct NetworkProxy::Flow {
  struct Piece {
    absl::Time arrived;
    std::string bytes;
  };

  int Connection::*from;
  int Connection::*to;
  int64_t Counts::*count;
  int64_t limit = -1;  // negative: none
  std::deque<Piece> pieces = {};
  int64_t held_bytes = 0;
  int64_t passed = 0;
  bool swallows = false;
  absl::Time metered_since = absl::Now();  // of a narrow link
  int64_t metered_bytes = 0;
};

struct NetworkProxy::Connection {
  int client = -1;  // negative: closed
  int server = -1;
  Ending ending = Ending::kReset;
  Flow requests{&Connection::client, &Connection::server, &Counts::to_server};
  Flow answers{&Connection::server, &Connection::client, &Counts::to_client};
};

struct NetworkProxy::Wait {
  const std::function<bool(const Counts&)>& condition;
  absl::Notification come;
};

NetworkProxy::NetworkProxy(int port, Planner planner)
    : target_(port), planner_(std::move(planner)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  SetUp(listener_);  // inherited by its connections
  sockaddr_in address = LoopbackAt(0);
  socklen_t size = sizeof(address);
  const bool listens =
      bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      listen(listener_, SOMAXCONN) == 0 &&
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  port_ = listens ? ntohs(address.sin_port) : 0;
  thread_ = std::thread([this] { Run(); });
}

NetworkProxy::~NetworkProxy() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  for (const std::unique_ptr<Connection>& connection : connections_) {
    End(*connection, Ending::kReset);
  }
  close(listener_);
  close(wake_);
}

std::string NetworkProxy::address() const { return absl::StrCat("127.0.0.1:", port_); }

void NetworkProxy::Cut(Ending ending) {
  Do([this, ending] {
    for (const std::unique_ptr<Connection>& connection : connections_) {
      End(*connection, ending);
    }
  });
}

void NetworkProxy::Hold() {
  Do([this] {
    for (const std::unique_ptr<Connection>& connection : connections_) {
      connection->requests.swallows = true;
      connection->answers.swallows = true;
    }
  });
}

void NetworkProxy::HoldAnswers() {
  Do([this] {
    for (const std::unique_ptr<Connection>& connection : connections_) {
      connection->answers.swallows = true;
    }
  });
}

void NetworkProxy::SetDelay(absl::Duration delay) {
  Do([this, delay] { delay_ = delay; });
}

void NetworkProxy::SetBytesPerSecond(int64_t bytes) {
  Do([this, bytes] {
    bytes_per_second_ = bytes;
    for (const std::unique_ptr<Connection>& connection : connections_) {
      for (Flow* flow : {&connection->requests, &connection->answers}) {
        flow->metered_since = absl::Now();
        flow->metered_bytes = 0;
      }
    }
  });
}

NetworkProxy::Counts NetworkProxy::counts() {
  Counts counts;
  Do([&] { counts = counts_; });
  return counts;
}

bool NetworkProxy::WaitUntil(const std::function<bool(const Counts&)>& condition) {
  Wait wait{condition, {}};
  {
    absl::MutexLock lock(&mutex_);
    waits_.push_back(&wait);
  }
  eventfd_write(wake_, 1);
  wait.come.WaitForNotificationWithTimeout(kWaitPatience);
  absl::MutexLock lock(&mutex_);
  waits_.remove(&wait);
  return wait.come.HasBeenNotified();
}

void NetworkProxy::Do(const std::function<void()>& work) {
  absl::Notification done;
  {
    absl::MutexLock lock(&mutex_);
    commands_.emplace_back([&] {
      work();
      done.Notify();
    });
  }
  eventfd_write(wake_, 1);
  done.WaitForNotification();
}

void NetworkProxy::Run() {
  while (true) {
    RunCommands();
    {
      absl::MutexLock lock(&mutex_);
      for (Wait* wait : waits_) {
        if (!wait->come.HasBeenNotified() && wait->condition(counts_)) {
          wait->come.Notify();
        }
      }
      if (stopping_) {
        return;
      }
    }
    Poll();
  }
}

void NetworkProxy::RunCommands() {
  std::list<std::function<void()>> commands;
  {
    absl::MutexLock lock(&mutex_);
    commands.swap(commands_);
  }
  for (const std::function<void()>& command : commands) {
    command();
  }
}

// Waits until somebody has something to say or something is due, and moves it.
void NetworkProxy::Poll() {
  std::vector<pollfd> polled = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
  absl::Time due = absl::InfiniteFuture();
  const absl::Time now = absl::Now();
  for (const std::unique_ptr<Connection>& connection : connections_) {
    decltype(pollfd::events) client = 0;
    decltype(pollfd::events) server = 0;
    for (Flow* flow : {&connection->requests, &connection->answers}) {
      auto& reading = flow == &connection->requests ? client : server;
      auto& writing = flow == &connection->requests ? server : client;
      reading |= flow->held_bytes < kFlowBytes ? POLLIN : 0;
      if (Sendable(*flow, now) > 0) {
        writing |= POLLOUT;
      } else if (!flow->pieces.empty()) {
        const absl::Time arrives = flow->pieces.front().arrived + delay_;
        due = std::min(due, std::max(arrives, now + absl::Milliseconds(2)));
      }
    }
    polled.push_back({connection->client, client, 0});  // poll passes over negative ones
    polled.push_back({connection->server, server, 0});
  }
  const int timeout = due == absl::InfiniteFuture()
                          ? -1
                          : static_cast<int>(absl::ToInt64Milliseconds(due - now)) + 1;
  poll(polled.data(), polled.size(), timeout);
  eventfd_t ignored = 0;
  eventfd_read(wake_, &ignored);
  for (const std::unique_ptr<Connection>& connection : connections_) {
    Move(*connection);
  }
  connections_.remove_if([](const std::unique_ptr<Connection>& connection) {
    return connection->client < 0 && connection->server < 0;
  });
  if (polled[1].revents != 0) {
    Accept();
  }
}

void NetworkProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) {
    return;
  }
  ++counts_.connections;
  int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SetUp(server);
  const sockaddr_in address = LoopbackAt(target_);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(server);
    close(client);
    return;
  }
  const int no_wait = 1;
  ioctl(server, FIONBIO, &no_wait);
  const Plan plan = planner_ ? planner_() : Plan();
  Connection& connection = *connections_.emplace_back(std::make_unique<Connection>());
  connection.client = client;
  connection.server = server;
  connection.ending = plan.ending;
  connection.requests.limit = plan.to_server;
  connection.answers.limit = plan.to_client;
  ++counts_.open;
}

void NetworkProxy::Move(Connection& connection) {
  for (Flow* flow : {&connection.requests, &connection.answers}) {
    if (!Read(connection, *flow) || !Write(connection, *flow)) {
      return;
    }
  }
}

bool NetworkProxy::Read(Connection& connection, Flow& flow) {
  std::array<char, kFlowBytes> buffer;
  int& from = connection.*flow.from;
  while (from >= 0 && flow.held_bytes < kFlowBytes) {
    const ssize_t size =
        recv(from, buffer.data(), static_cast<size_t>(kFlowBytes - flow.held_bytes), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
      return true;
    }
    if (size <= 0 && flow.swallows) {
      counts_.left_by_server += flow.from == &Connection::server ? 1 : 0;
      counts_.open -= connection.*flow.to >= 0 ? 1 : 0;
      CloseSocket(from, Ending::kClose);
      return true;
    }
    if (size <= 0) {
      Write(connection, flow);  // the last words
      End(connection, size == 0 ? Ending::kClose : Ending::kReset);
      return false;
    }
    if (!flow.swallows) {
      flow.pieces.push_back({absl::Now(), std::string(buffer.data(), static_cast<size_t>(size))});
      flow.held_bytes += size;
    }
  }
  return true;
}

// How many bytes may go now.
int64_t NetworkProxy::Sendable(const Flow& flow, absl::Time now) const {
  if (flow.pieces.empty() || flow.pieces.front().arrived + delay_ > now) {
    return 0;
  }
  auto size = static_cast<int64_t>(flow.pieces.front().bytes.size());
  if (bytes_per_second_ > 0) {
    const double seconds = absl::ToDoubleSeconds(now - flow.metered_since);
    const int64_t free =
        static_cast<int64_t>(seconds * static_cast<double>(bytes_per_second_)) - flow.metered_bytes;
    size = free < std::min(size, kLeastPortion) ? 0 : std::min(size, free);
  }
  return flow.limit < 0 ? size : std::min(size, flow.limit - flow.passed);
}

bool NetworkProxy::Write(Connection& connection, Flow& flow) {
  int& to = connection.*flow.to;
  if (flow.swallows) {
    flow.pieces.clear();
    flow.held_bytes = 0;
  }
  for (int64_t size = 0; to >= 0 && (size = Sendable(flow, absl::Now())) > 0;) {
    std::string& bytes = flow.pieces.front().bytes;
    const ssize_t sent = send(to, bytes.data(), static_cast<size_t>(size), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
      return true;
    }
    if (sent < 0) {
      End(connection, Ending::kReset);
      return false;
    }
    bytes.erase(0, static_cast<size_t>(sent));
    if (bytes.empty()) {
      flow.pieces.pop_front();
    }
    flow.held_bytes -= sent;
    flow.passed += sent;
    flow.metered_bytes += sent;
    counts_.*flow.count += sent;
    if (flow.passed == flow.limit) {
      ++counts_.cut;
      End(connection, connection.ending);
      return false;
    }
  }
  return true;
}

void NetworkProxy::End(Connection& connection, Ending ending) {
  counts_.open -= connection.client >= 0 && connection.server >= 0 ? 1 : 0;
  CloseSocket(connection.client, ending);
  CloseSocket(connection.server, ending);
}

}  // namespace mercer::server
