#include "tests/support/server/certificates.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace mercer::server {
namespace {

template <typename Write>
std::string ToPem(const Write& write) {
  BIO* const bio = BIO_new(BIO_s_mem());
  write(bio);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  std::string pem(text, static_cast<size_t>(size));
  BIO_free(bio);
  return pem;
}

std::string ToPem(X509* certificate) {
  return ToPem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate); });
}

void AddExtension(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* NewCertificate(const std::string& name, EVP_PKEY* key, long serial) {
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

void SetValidity(X509* certificate, absl::Time begin, absl::Time end) {
  ASN1_TIME_set(X509_getm_notBefore(certificate), absl::ToTimeT(begin));
  ASN1_TIME_set(X509_getm_notAfter(certificate), absl::ToTimeT(end));
}

}  // namespace

struct TestAuthority::Keys {
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;

  ~Keys() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

TestAuthority::TestAuthority(const std::string& name) : keys_(std::make_unique<Keys>()) {
  keys_->key = EVP_EC_gen("P-256");
  keys_->certificate = NewCertificate(name, keys_->key, serial_++);
  SetValidity(keys_->certificate, absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(24));
  X509_set_issuer_name(keys_->certificate, X509_get_subject_name(keys_->certificate));
  AddExtension(keys_->certificate, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(keys_->certificate, keys_->key, EVP_sha256());
  certificate_ = ToPem(keys_->certificate);
}

TestAuthority::~TestAuthority() = default;

PemPair TestAuthority::Issue(const std::string& name, absl::Time begin, absl::Time end) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = NewCertificate(name, key, serial_++);
  SetValidity(certificate, begin, end);
  X509_set_issuer_name(certificate, X509_get_subject_name(keys_->certificate));
  AddExtension(certificate, NID_subject_alt_name, absl::StrCat("DNS:", name));
  X509_sign(certificate, keys_->key, EVP_sha256());
  PemPair pair{ToPem(certificate), ToPem([&](BIO* bio) {
                 PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
               })};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return pair;
}

PemPair TestAuthority::Issue(const std::string& name) {
  return Issue(name, absl::Now() - absl::Hours(1), absl::Now() + absl::Hours(23));
}

}  // namespace mercer::server
