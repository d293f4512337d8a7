#include "server/digest/sha256.h"

#include <new>

#include "absl/strings/escaping.h"
#include <openssl/evp.h>

namespace mercer::server {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

// It fails for want of memory alone.
Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
    throw std::bad_alloc();
  }
}

void Sha256::Update(std::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

Sha256Bytes Sha256::Finish() {
  Sha256Bytes digest;
  EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
  return digest;
}

std::string Sha256::FinishHex() { return Hex(Finish()); }

std::string Hex(const Sha256Bytes& digest) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Sha256Bytes Sha256Of(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

std::string Sha256Hex(std::string_view bytes) { return Hex(Sha256Of(bytes)); }

}  // namespace mercer::server
