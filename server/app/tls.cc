#include "server/app/tls.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "core/base/errors.h"
#include "core/base/status_macros.h"

namespace mercer::server {
namespace {

template <typename T, void (*Free)(T*)>
struct Freed {
  void operator()(T* pointer) const { Free(pointer); }
};
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioDeleter>;

absl::Status BadCertificate(const std::string& path, std::string_view why) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("the TLS file '", path, "' ", std::string(why))),
      "BAD_CERTIFICATE", {{"file", path}});
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    return BadCertificate(path, "cannot be read or is empty");
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Bio View(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// The first certificate of a file; authorities' files may hold more.
absl::StatusOr<Certificate> ReadCertificate(const std::string& path, absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(const std::string text, ReadPem(path));
  Certificate certificate(PEM_read_bio_X509(View(text).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) {
    return BadCertificate(path, "holds no certificate in PEM form");
  }
  std::time_t seconds = absl::ToTimeT(now);
  if (X509_cmp_time(X509_get0_notBefore(certificate.get()), &seconds) > 0) {
    return BadCertificate(path, "holds a certificate that is not valid yet");
  }
  if (X509_cmp_time(X509_get0_notAfter(certificate.get()), &seconds) < 0) {
    return BadCertificate(path, "holds a certificate that has expired");
  }
  return certificate;
}

// A key with a password cannot be used: nobody is there to type it.
int RefusePassword(char*, int, int, void*) { return -1; }

absl::StatusOr<PrivateKey> ReadKey(const std::string& path) {
  MERCER_ASSIGN_OR_RETURN(const std::string text, ReadPem(path));
  PrivateKey key(PEM_read_bio_PrivateKey(View(text).get(), nullptr, RefusePassword, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return BadCertificate(path, "holds no private key in PEM form without password");
  }
  return key;
}

}  // namespace

absl::Status CheckTlsFiles(const TlsFiles& files, absl::Time now) {
  if (files.certificate.empty() || files.key.empty()) {
    return WithReason(absl::FailedPreconditionError(
                          "TLS needs both the server's certificate and its private key"),
                      "BAD_CERTIFICATE");
  }
  MERCER_ASSIGN_OR_RETURN(const Certificate certificate, ReadCertificate(files.certificate, now));
  MERCER_ASSIGN_OR_RETURN(const PrivateKey key, ReadKey(files.key));
  const bool fits = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!fits) {
    return BadCertificate(files.key, absl::StrCat("is not the key of '", files.certificate, "'"));
  }
  return files.client_ca.empty() ? absl::OkStatus()
                                 : ReadCertificate(files.client_ca, now).status();
}

std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(const TlsFiles& files,
                                                            absl::Duration refresh) {
  const auto seconds =
      static_cast<unsigned int>(std::max<int64_t>(1, absl::ToInt64Seconds(refresh)));
  auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key, files.certificate, files.client_ca, seconds);
  grpc::experimental::TlsServerCredentialsOptions options(std::move(provider));
  options.watch_identity_key_cert_pairs();
  if (!files.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace mercer::server
