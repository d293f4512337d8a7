// The server's certificates: checked before they are used, and read again while it runs.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include <grpcpp/security/server_credentials.h>

#include "server/app/access/access_options.h"
#include "server/app/access/memory_file.h"

namespace mercer::server {

// The contents of TlsFiles.
struct TlsTexts {
  std::string certificate;
  std::string key;
  std::string client_ca;

  friend bool operator==(const TlsTexts&, const TlsTexts&) = default;
};

// The server's certificates in use. gRPC reads files again by itself, but refuses every new connection
// while they do not fit together, and a certificate and its key cannot be replaced at once; so it reads
// files in memory, which get the operator's when those are good. Thread-safe.
class TlsCertificates {
 public:
  // Errors, all kFailedPrecondition with reason BAD_CERTIFICATE and the file's name: a file that
  // cannot be read, is no PEM, a certificate that is not valid at `now`, a key of another
  // certificate, a certificate without its key. kInternal.
  static absl::StatusOr<std::unique_ptr<TlsCertificates>> Load(const TlsFiles& files,
                                                               absl::Time now);
  TlsCertificates(const TlsCertificates&) = delete;
  TlsCertificates& operator=(const TlsCertificates&) = delete;

  // Reads the files again; when something is wrong with them the certificates stay as they were, and the
  // error says why. True when they are other ones now: new connections see them within two seconds, those
  // that stand go on.
  absl::StatusOr<bool> Reload(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // As last used.
  TlsTexts texts() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return texts_;
  }

  // With `client_ca` a client without a certificate of that authority cannot connect. Must not outlive
  // this object.
  std::shared_ptr<grpc::ServerCredentials> Credentials() const;

 private:
  explicit TlsCertificates(TlsFiles files) : files_(std::move(files)) {}

  const TlsFiles files_;
  MemoryFile identity_;  // certificates and key
  MemoryFile client_ca_;
  mutable absl::Mutex mutex_;
  TlsTexts texts_ ABSL_GUARDED_BY(mutex_);  // of the files, as last used
};

}  // namespace mercer::server
