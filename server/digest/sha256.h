// SHA-256 in one go or in pieces.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // of OpenSSL

namespace mercer::server {

using Sha256Bytes = std::array<uint8_t, 32>;

// Not thread-safe.
class Sha256 {
 public:
  Sha256();

  void Update(std::string_view bytes);
  // Ends the computation.
  Sha256Bytes Finish();
  std::string FinishHex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// 64 lower-case digits.
std::string Hex(const Sha256Bytes& digest);

Sha256Bytes Sha256Of(std::string_view bytes);
std::string Sha256Hex(std::string_view bytes);

}  // namespace mercer::server
