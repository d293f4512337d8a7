#include "server/digest/sha256.h"

#include <new>

#include "absl/strings/escaping.h"
#include <openssl/evp.h>

namespace mercer::server {

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* pointer) const { EVP_MD_CTX_free(pointer); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

// It fails for want of memory alone.
Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (state_->context == nullptr ||
      EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) != 1) {
    throw std::bad_alloc();
  }
}

Sha256::~Sha256() = default;

void Sha256::Update(std::string_view bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

Sha256Bytes Sha256::Finish() {
  Sha256Bytes digest;
  EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr);
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
