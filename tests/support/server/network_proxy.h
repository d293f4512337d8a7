// A network of our own between clients and one server: it can be cut, held, delayed and made narrow.
//
//   NetworkProxy network(server.port());
//   client::Client client({.address = network.address()});
//   network.Hold();                                           // nobody hears of anybody, no connection ends
//   EXPECT_TRUE(network.WaitUntil([](const NetworkProxy::Counts& counts) { return counts.left_by_server == 1; }));
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace mercer::server {

// Thread-safe. One thread moves all bytes and alone touches the connections; commands run on it and are done when the
// call returns. A connection holds at most 64 KiB in each direction, besides the small buffers of its sockets.
class NetworkProxy {
 public:
  enum class Ending : uint8_t { kReset, kClose };  // RST or FIN, to both sides

  // How many bytes one connection lets through before it is cut, at least 1; negative: all.
  struct Plan {
    int64_t to_server = -1;
    int64_t to_client = -1;
    Ending ending = Ending::kReset;
  };
  using Planner = std::function<Plan()>;

  // Over all connections so far.
  struct Counts {
    int connections = 0;     // accepted
    int open = 0;            // of them, those with both ends
    int cut = 0;             // by a plan
    int left_by_server = 0;  // while held: the client was not told
    int64_t to_server = 0;   // bytes
    int64_t to_client = 0;
  };

  // To the server on `port` of 127.0.0.1. `planner` is asked at each connection, on the proxy's thread; it must not
  // command the proxy. Empty: no plans.
  explicit NetworkProxy(int port, Planner planner = {});
  // Cuts all connections.
  ~NetworkProxy();
  NetworkProxy(const NetworkProxy&) = delete;
  NetworkProxy& operator=(const NetworkProxy&) = delete;

  std::string address() const;
  int port() const { return port_; }

  // Ends the connections that stand.
  void Cut(Ending ending);
  // From now on what anybody sends is swallowed and the end of one side is hidden from the other, on the connections that
  // stand; new ones work.
  void Hold();
  // The same, of answers alone: the server hears everything.
  void HoldAnswers();
  // Of each byte, on all connections, also of those to come.
  void SetDelay(absl::Duration delay);
  // For each connection and direction, also of those to come; 0: no limit.
  void SetBytesPerSecond(int64_t bytes);

  Counts counts();
  // Blocks; false when it has not come to that within a minute. `condition` runs on the proxy's thread whenever something
  // has happened.
  bool WaitUntil(const std::function<bool(const Counts&)>& condition);

 private:
  struct Flow;
  struct Connection;
  struct Wait;

  void Run();
  // Runs `work` on the thread and waits for it.
  void Do(const std::function<void()>& work) ABSL_LOCKS_EXCLUDED(mutex_);
  void RunCommands() ABSL_LOCKS_EXCLUDED(mutex_);
  void Poll();
  void Accept();
  void Move(Connection& connection);
  // Reads what there is. False: the connection has ended.
  bool Read(Connection& connection, Flow& flow);
  // Writes what is due. False: the connection has ended.
  bool Write(Connection& connection, Flow& flow);
  int64_t Sendable(const Flow& flow, absl::Time now) const;
  void End(Connection& connection, Ending ending);

  int port_ = 0;
  int listener_ = -1;
  int wake_ = -1;  // readable when there are commands or the end has come
  const int target_;
  const Planner planner_;

  // Of the thread.
  std::list<std::unique_ptr<Connection>> connections_;
  Counts counts_;
  absl::Duration delay_;
  int64_t bytes_per_second_ = 0;

  absl::Mutex mutex_;
  std::list<std::function<void()>> commands_ ABSL_GUARDED_BY(mutex_);
  std::list<Wait*> waits_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace mercer::server
