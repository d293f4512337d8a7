#include "server/app/access/access_control.h"

#include <utility>

#include "absl/time/clock.h"
#include <spdlog/spdlog.h>

#include "core/base/status/status_macros.h"

namespace mercer::server {

absl::StatusOr<std::unique_ptr<AccessControl>> AccessControl::Open(
    const AccessOptions& options, std::shared_ptr<spdlog::logger> log) {
  auto access = std::unique_ptr<AccessControl>(new AccessControl(std::move(log)));
  if (!options.tokens.empty()) {
    MERCER_ASSIGN_OR_RETURN(access->gate_, Gate::FromFile(options.tokens));
  }
  if (!options.tls.empty()) {
    MERCER_ASSIGN_OR_RETURN(access->certificates_, TlsCertificates::Load(options.tls, absl::Now()));
  }
  if (options.has_files()) {
    access->ticker_ = std::make_unique<Ticker>(options.reload_interval);
    access->ticker_->Add([raw = access.get()] { raw->Reload(); });
  }
  return access;
}

std::shared_ptr<grpc::ServerCredentials> AccessControl::Credentials() const {
  return certificates_ == nullptr ? grpc::InsecureServerCredentials()
                                  : certificates_->Credentials();
}

void AccessControl::Reload() {
  absl::MutexLock lock(&mutex_);
  Report("tokens", gate_->Reload(), token_error_);
  if (certificates_ != nullptr) {
    const absl::StatusOr<bool> reloaded = certificates_->Reload(absl::Now());
    Report("certificates", reloaded, certificate_error_);
    if (reloaded.ok() && *reloaded && certificate_listener_ != nullptr) {
      certificate_listener_(certificates_->texts());
    }
  }
}

void AccessControl::SetCertificateListener(std::function<void(const TlsTexts&)> listener) {
  absl::MutexLock lock(&mutex_);
  certificate_listener_ = std::move(listener);
  if (certificates_ != nullptr && certificate_listener_ != nullptr) {
    certificate_listener_(certificates_->texts());
  }
}

void AccessControl::Report(const char* what, const absl::StatusOr<bool>& reloaded,
                           std::string& error) {
  const std::string message(reloaded.status().message());
  if (!reloaded.ok() && message != error) {
    log_->error("the {} stay as they were: {}", what, message);
  } else if (reloaded.ok() && *reloaded) {
    log_->info("new {} are in use", what);
  } else if (reloaded.ok() && !error.empty()) {
    log_->info("the {} are again those in use", what);
  }
  error = message;
}

void WarnOfOpenDoor(spdlog::logger& log, const AccessOptions& access, const std::string& listen,
                    const std::string& address) {
  if (IsLoopback(listen) || (!access.tls.empty() && !access.tokens.empty())) {
    return;
  }
  log.warn("INSECURE: other machines reach {} {} TLS and {} tokens: {}", address,
           access.tls.empty() ? "without" : "with", access.tokens.empty() ? "without" : "with",
           access.tokens.empty() ? "everybody may do everything"
                                 : "whoever listens on the network reads the tokens");
}

}  // namespace mercer::server
