// The files of the door, read at the start and again while the server runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include <grpcpp/security/server_credentials.h>

#include "server/access/gate.h"
#include "server/app/access/access_options.h"
#include "server/app/access/tls.h"
#include "server/rpc/ticker.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace mercer::server {

// Thread-safe.
class AccessControl {
 public:
  // Errors: those of Gate::FromFile and TlsCertificates::Load.
  static absl::StatusOr<std::unique_ptr<AccessControl>> Open(const AccessOptions& options,
                                                             std::shared_ptr<spdlog::logger> log);
  AccessControl(const AccessControl&) = delete;
  AccessControl& operator=(const AccessControl&) = delete;

  std::shared_ptr<const Gate> gate() const { return gate_; }
  // Must not outlive this object.
  std::shared_ptr<grpc::ServerCredentials> Credentials() const;
  // Null: plain text.
  const TlsCertificates* certificates() const { return certificates_.get(); }
  // `listener` is told of the certificates in use and of each new pair of certificate and key, while nothing else is read again;
  // null: nobody.
  void SetCertificateListener(std::function<void(const TlsTexts&)> listener)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Now, and not only at the next look at the files, which comes every `reload_interval`. What is broken
  // stays as it was; the log says so, once for each flaw.
  void Reload() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  explicit AccessControl(std::shared_ptr<spdlog::logger> log) : log_(std::move(log)) {}
  // What came of a look at one kind of files, into the log. `error` remembers the last flaw.
  void Report(const char* what, const absl::StatusOr<bool>& reloaded, std::string& error)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<spdlog::logger> log_;
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::unique_ptr<TlsCertificates> certificates_;  // null: plain text
  absl::Mutex mutex_;                              // one look at a time
  std::function<void(const TlsTexts&)> certificate_listener_ ABSL_GUARDED_BY(mutex_);
  std::string token_error_ ABSL_GUARDED_BY(mutex_);
  std::string certificate_error_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Ticker> ticker_;  // null: no files; calls the rest of this
};

// A line of the log where others than this machine reach `address`, which is where `listen` is, without TLS or without tokens.
void WarnOfOpenDoor(spdlog::logger& log, const AccessOptions& access, const std::string& listen,
                    const std::string& address);

}  // namespace mercer::server
