// The server's certificates: checked before they are used, and read again while it runs.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include <grpcpp/security/server_credentials.h>

namespace mercer::server {

// Paths of PEM files.
struct TlsFiles {
  std::string certificate;  // the server's, then those of the authorities between it and the root
  std::string key;          // private key of the server's certificate
  std::string client_ca;    // authorities that sign clients' certificates; empty: clients show none

  bool empty() const { return certificate.empty() && key.empty() && client_ca.empty(); }
};

// Errors, all kFailedPrecondition with reason BAD_CERTIFICATE and the file's name: a file that
// cannot be read, is no PEM, a certificate that is not valid at `now`, a key of another
// certificate, a certificate without its key.
absl::Status CheckTlsFiles(const TlsFiles& files, absl::Time now);

// Credentials of `files`, read again every `refresh` (whole seconds, at least one): calls that are
// open go on with the old certificate, new connections see the new one. Files that do not fit
// together are left aside until they do. With `client_ca` a client without a certificate of that
// authority cannot connect.
std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(const TlsFiles& files,
                                                            absl::Duration refresh);

}  // namespace mercer::server
