#include "server/app/listener.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <spdlog/spdlog.h>

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "server/net/peer_host.h"

namespace mercer::server {
namespace {

// What gRPC sets when it listens by itself and is told of keep-alive.
constexpr absl::Duration kUserTimeout = absl::Seconds(10);
constexpr int kPauseMilliseconds = 50;  // when the system has no room for a connection
constexpr absl::Duration kLookInterval = absl::Milliseconds(50);
// Within that gRPC begins ten thousands of calls that are reset at once, of some 20 KiB each: so looks do not wait while so many calls
// do. To look as often at other times would break off senders of large messages that have not heard yet that they are refused.
constexpr absl::Duration kCrowdInterval = absl::Milliseconds(10);
constexpr int64_t kCrowd = 2000;
constexpr absl::Duration kShortestShutOut = absl::Seconds(2);
constexpr absl::Duration kLongestShutOut = absl::Minutes(1);
constexpr absl::Duration kForgiven = absl::Minutes(5);
constexpr absl::Duration kCountInterval = absl::Milliseconds(50);

// The processor time of this thread.
absl::Duration ThreadTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

bool IsFile(int descriptor, ino_t inode) {
  struct stat file = {};
  return fstat(descriptor, &file) == 0 && file.st_ino == inode;
}

}  // namespace

bool ResetConnection(int socket, ino_t inode) {
  // A number of its own, which nobody else closes and gives to another file between the look and
  // the reset.
  const int own = IsFile(socket, inode) ? fcntl(socket, F_DUPFD_CLOEXEC, 0) : -1;
  // Where there is no further number, as in a flood of connections, the shared one has to do.
  const int reset = own < 0 && (errno == EMFILE || errno == ENFILE) ? socket : own;
  const bool is_open = IsFile(reset, inode);
  if (is_open) {
    // gRPC would still read all that has come, and begin its calls: megabytes of resets. A socket
    // that is connected to nothing has lost it.
    const sockaddr nothing = {.sa_family = AF_UNSPEC, .sa_data = {}};
    if (connect(reset, &nothing, sizeof(nothing)) != 0) {
      shutdown(reset, SHUT_RDWR);
    }
  }
  if (own >= 0) {
    close(own);
  }
  return is_open;
}

void OpenConnections::Add(int socket, std::string host, std::string peer) {
  struct stat file = {};
  if (fstat(socket, &file) != 0) {
    return;
  }
  // Without a socket until all is there: should there be no memory, it is forgotten as a closed one is.
  Connection& added = connections_.emplace_back(
      Connection{-1, file.st_ino, std::move(host), std::move(peer), nullptr});
  added.load = loads_.Add(added.peer);
  ++of_host_[added.host];
  added.socket = socket;
}

bool OpenConnections::Reach(const ConnectionLimits& limits, const std::string& host) const {
  const auto found = of_host_.find(host);
  return connections_.size() >= limits.total ||
         (found != of_host_.end() && found->second >= limits.per_peer);
}

void OpenConnections::ForgetClosed() {
  std::erase_if(connections_, [this](const Connection& connection) {
    if (IsFile(connection.socket, connection.inode)) {
      return false;
    }
    loads_.Remove(connection.peer, connection.load);
    return true;
  });
  of_host_.clear();
  for (const Connection& connection : connections_) {
    ++of_host_[connection.host];
  }
}

bool OpenConnections::AreMany(const ConnectionLimits& limits, const std::string& host,
                              absl::Time now) {
  if (Reach(limits, host) && now >= counted_ + kCountInterval) {
    counted_ = now;
    ForgetClosed();
  }
  return Reach(limits, host);
}

std::vector<std::string> OpenConnections::BreakOffFloods(absl::Time now) {
  ForgetClosed();
  std::vector<std::string> lines;
  AllConnections all;
  for (Connection& connection : connections_) {
    all.waiting_calls = loads_.waiting_calls();
    const char* const flood =
        connection.is_broken
            ? nullptr
            : connection.gauge.Look(*connection.load, BytesOfSocket(connection.socket), all, now);
    if (flood != nullptr && ResetConnection(connection.socket, connection.inode)) {
      ShutOutHost(connection.host, now);
      lines.push_back(absl::StrCat("a connection is broken off peer=", connection.peer,
                                   " because=\"", flood, "\""));
      connection.is_broken = true;  // last: without memory for the others the next look does them
    }
  }
  return lines;
}

void OpenConnections::ShutOutHost(const std::string& host, absl::Time now) {
  std::erase_if(shut_out_, [now](const auto& entry) { return now > entry.second.end + kForgiven; });
  ShutOut& shut_out = shut_out_[host];
  if (now >= shut_out.end) {
    shut_out.length = std::clamp(2 * shut_out.length, kShortestShutOut, kLongestShutOut);
    shut_out.end = now + shut_out.length;
  }
}

bool OpenConnections::IsShutOut(const std::string& host, absl::Time now) const {
  const auto found = shut_out_.find(host);
  return found != shut_out_.end() && now < found->second.end;
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const std::string& address,
                                                         ConnectionLimits limits,
                                                         ConnectionLoads& loads,
                                                         std::shared_ptr<spdlog::logger> log) {
  MERCER_ASSIGN_OR_RETURN(ListeningSockets sockets, ListeningSockets::Open(address, kUserTimeout));
  auto listener =
      std::unique_ptr<Listener>(new Listener(limits, std::move(sockets), loads, std::move(log)));
  if (listener->wake_ < 0) {
    return absl::InternalError(
        absl::StrCat("cannot listen on ", address, ": ", std::strerror(errno)));
  }
  return listener;
}

Listener::Listener(ConnectionLimits limits, ListeningSockets sockets, ConnectionLoads& loads,
                   std::shared_ptr<spdlog::logger> log)
    : limits_(limits),
      log_(std::move(log)),
      sockets_(std::move(sockets)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      connections_(loads) {}

Listener::~Listener() {
  Stop();
  if (wake_ >= 0) {
    close(wake_);
  }
}

void Listener::Start(std::unique_ptr<Acceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  thread_ = std::thread([this] { Run(); });
  guard_thread_ = std::thread([this] { Guard(); });
}

void Listener::Stop() {
  eventfd_write(wake_, 1);
  if (thread_.joinable()) {
    thread_.join();
  }
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  if (guard_thread_.joinable()) {
    guard_thread_.join();
  }
  sockets_.Close();
}

void Listener::Run() {
  pthread_setname_np(pthread_self(), kAcceptingThread);
  std::vector<pollfd> polled = {{wake_, POLLIN, 0}};
  for (const int socket : sockets_.sockets()) {
    polled.push_back({socket, POLLIN, 0});
  }
  while (true) {
    if (poll(polled.data(), polled.size(), -1) < 0) {
      continue;  // EINTR
    }
    if (polled[0].revents != 0) {
      return;
    }
    for (size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents != 0) {
        Accept(polled[i].fd);
      }
    }
  }
}

void Listener::Guard() {
  pthread_setname_np(pthread_self(), kGuardingThread);
  absl::MutexLock lock(&mutex_);
  while (true) {
    const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopped_ || !connections_.empty();
    };
    mutex_.Await(absl::Condition(&has_work));
    if (stopped_) {
      return;
    }
    const absl::Duration before = ThreadTime();
    RunNeeded("a look at connections", [connections = &connections_, log = log_.get()] {
      for (const std::string& line : connections->BreakOffFloods(absl::Now())) {
        if (log != nullptr) {
          log->warn(line);
        }
      }
    }).IgnoreError();  // the next look sees what this one has not
    // At most a twentieth of a processor, however many connections there are.
    const absl::Duration least = 20 * (ThreadTime() - before);
    const absl::Duration pause = std::max(kLookInterval, least);
    for (absl::Duration paused; !stopped_ && paused < pause; paused += kCrowdInterval) {
      if (paused >= std::max(kCrowdInterval, least) && connections_.waiting_calls() > kCrowd) {
        break;
      }
      mutex_.AwaitWithTimeout(absl::Condition(&stopped_), kCrowdInterval);
    }
  }
}

bool Listener::Remember(int socket, std::string host, std::string peer) {
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&mutex_);
  if (connections_.IsShutOut(host, now) || connections_.AreMany(limits_, host, now)) {
    return false;
  }
  connections_.Add(socket, std::move(host), std::move(peer));
  return true;
}

void Listener::Accept(int listening) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  const int socket = accept4(listening, reinterpret_cast<sockaddr*>(&address), &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      pollfd wake = {wake_, POLLIN, 0};
      poll(&wake, 1, kPauseMilliseconds);  // the client waits; others may leave meanwhile
    }
    return;
  }
  bool is_remembered = false;
  RunNeeded("a new connection", [&] {
    is_remembered = Remember(socket, PeerHost(address), PeerName(address));
  }).IgnoreError();  // there is no memory for it
  if (!is_remembered) {
    close(socket);
    return;
  }
  Acceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listening;
  parameters.fd = socket;
  acceptor_->HandleNewConnection(&parameters);
}

ConnectionLimits LimitsOfConnections(bool loopback) {
  constexpr size_t kMost = 10'000;
  rlimit files = {};
  const size_t total = getrlimit(RLIMIT_NOFILE, &files) == 0
                           ? std::clamp<size_t>(files.rlim_cur / 2, 1, kMost)
                           : kMost;
  return {total, loopback ? total : std::max<size_t>(total / 2, 1)};
}

}  // namespace mercer::server
