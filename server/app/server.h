// The server as a whole: the only place that knows every part.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/learners/registry.h"
#include "server/app/server_options.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace grpc {
class Channel;
}  // namespace grpc

namespace mercer::server {

// One line per event to stderr. `level` as ServerOptions::log_level.
std::shared_ptr<spdlog::logger> MakeLogger(const std::string& level);

// Thread-safe once started.
class Server {
 public:
  // Opens the data folder, recovers its jobs, listens, and writes the ports to the files "port" and "http_port" in
  // the folder. Errors: kInvalidArgument (BAD_TOKEN_FILE too), kFailedPrecondition (NOT_LOOPBACK, BAD_CERTIFICATE,
  // TOKEN_FILE_UNREADABLE, DATA_FOLDER_LOCKED, STORAGE_READ_ONLY, NEWER_SCHEMA), kDataLoss, kUnavailable
  // (HOST_NOT_FOUND, ADDRESS_IN_USE, ADDRESS_NOT_AVAILABLE), kResourceExhausted (DISK_FULL), kInternal.
  // `find_learner`: measurements put other learners under the names of those that there are.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options, std::shared_ptr<spdlog::logger> log,
      std::function<const LearnerEntry*(std::string_view)> find_learner = FindLearner);
  // Without Drain before: as if the process had died.
  virtual ~Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  virtual int port() const = 0;
  // 0: no HTTP.
  virtual int http_port() const = 0;
  // "127.0.0.1:7345", with the port that is really used.
  virtual const std::string& address() const = 0;
  // A channel that needs no network.
  virtual std::shared_ptr<grpc::Channel> InProcessChannel() = 0;

  // Reads tokens and certificates again, now; broken files leave everything as it is. The server also
  // looks at them by itself.
  virtual void ReloadAccess() = 0;
  // What SIGHUP means: ReloadAccess, and the options as they are given now, or why they cannot be read. The log level and
  // the limits change at once (Setting::kLive); the log names what changes, what waits for the next start, and what is wrong,
  // in which case all stays as it was.
  virtual void Reload(const absl::StatusOr<ServerOptions>& options) = 0;

  // Says NOT_SERVING, takes no new jobs, sends running ones back to the queue with a checkpoint,
  // ends streams with UNAVAILABLE, stops listening. Blocks until all is done. Idempotent.
  virtual void Drain() = 0;

 protected:
  Server() = default;
};

}  // namespace mercer::server
