// Passes bytes between clients and one server, and cuts connections.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mercer::server {

// Thread-safe. Each connection has two threads.
class CuttingProxy {
 public:
  // `next_cut` is asked at each connection how many bytes from client to server it lets through before it is cut; negative:
  // all. `target()` is the port of the server on 127.0.0.1, asked at each connection.
  CuttingProxy(std::function<int()> target, std::function<int64_t()> next_cut);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int cuts() const;
  // Bytes from client to server, connection by connection.
  std::vector<int64_t> passed() const;

 private:
  struct Connection;

  void Listen();
  void Serve(Connection& connection);

  const std::function<int()> target_;
  const std::function<int64_t()> next_cut_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  bool stopping_ = false;  // guarded by mutex_, as all below
  int cuts_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread thread_;  // last: it uses all above
};

}  // namespace mercer::server
