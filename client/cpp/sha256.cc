#include "client/cpp/sha256.h"

#include "absl/strings/escaping.h"
#include <openssl/evp.h>

namespace mercer::client {

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* digest) const { EVP_MD_CTX_free(digest); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  state_->context.reset(EVP_MD_CTX_new());
  EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr);
}

Sha256::~Sha256() = default;

void Sha256::Add(std::string_view bytes) {
  EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

std::string Sha256::Digest() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(state_->context.get(), digest, &size);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

}  // namespace mercer::client
