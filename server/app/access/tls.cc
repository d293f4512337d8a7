#include "server/app/access/tls.h"

#include <ctime>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

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

// The first certificate of the file's text; authorities' files may hold more.
absl::StatusOr<Certificate> ParseCertificate(const std::string& path, const std::string& text,
                                             absl::Time now) {
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

absl::StatusOr<PrivateKey> ParseKey(const std::string& path, const std::string& text) {
  PrivateKey key(PEM_read_bio_PrivateKey(View(text).get(), nullptr, RefusePassword, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return BadCertificate(path, "holds no private key in PEM form without password");
  }
  return key;
}

absl::StatusOr<TlsTexts> ReadTexts(const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty()) {
    return WithReason(absl::FailedPreconditionError(
                          "TLS needs both the server's certificate and its private key"),
                      "BAD_CERTIFICATE");
  }
  TlsTexts texts;
  MERCER_ASSIGN_OR_RETURN(texts.certificate, ReadPem(files.certificate));
  MERCER_ASSIGN_OR_RETURN(texts.key, ReadPem(files.key));
  if (!files.client_ca.empty()) {
    MERCER_ASSIGN_OR_RETURN(texts.client_ca, ReadPem(files.client_ca));
  }
  return texts;
}

// `files` names the places of what is wrong.
absl::Status CheckTexts(const TlsFiles& files, const TlsTexts& texts, absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(const Certificate certificate,
                          ParseCertificate(files.certificate, texts.certificate, now));
  MERCER_ASSIGN_OR_RETURN(const PrivateKey key, ParseKey(files.key, texts.key));
  const bool fits = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!fits) {
    return BadCertificate(files.key, absl::StrCat("is not the key of '", files.certificate, "'"));
  }
  return files.client_ca.empty() ? absl::OkStatus()
                                 : ParseCertificate(files.client_ca, texts.client_ca, now).status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsCertificates>> TlsCertificates::Load(const TlsFiles& files,
                                                                       absl::Time now) {
  auto certificates = std::unique_ptr<TlsCertificates>(new TlsCertificates(files));
  MERCER_RETURN_IF_ERROR(certificates->Reload(now).status());
  return certificates;
}

absl::StatusOr<bool> TlsCertificates::Reload(absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(TlsTexts texts, ReadTexts(files_));
  absl::MutexLock lock(&mutex_);
  if (texts == texts_) {
    return false;
  }
  MERCER_RETURN_IF_ERROR(CheckTexts(files_, texts, now));
  // One file for both, so that nobody reads one of the new pair and one of the old.
  MERCER_RETURN_IF_ERROR(identity_.Replace(absl::StrCat(texts.certificate, "\n", texts.key)));
  if (!files_.client_ca.empty()) {
    MERCER_RETURN_IF_ERROR(client_ca_.Replace(texts.client_ca));
  }
  texts_ = std::move(texts);
  return true;
}

std::shared_ptr<grpc::ServerCredentials> TlsCertificates::Credentials() const {
  const std::string roots = files_.client_ca.empty() ? "" : client_ca_.path();
  auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      identity_.path(), identity_.path(), roots, /*refresh_interval_sec=*/1);
  grpc::experimental::TlsServerCredentialsOptions options(std::move(provider));
  options.watch_identity_key_cert_pairs();
  if (!roots.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace mercer::server
