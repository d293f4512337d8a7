// SHA-256 in one go or in pieces.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mercer::server {

using Sha256Bytes = std::array<uint8_t, 32>;

// Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::string_view bytes);
  // Ends the computation.
  Sha256Bytes Finish();
  std::string FinishHex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// 64 lower-case digits.
std::string Hex(const Sha256Bytes& digest);

Sha256Bytes Sha256Of(std::string_view bytes);
std::string Sha256Hex(std::string_view bytes);

}  // namespace mercer::server
