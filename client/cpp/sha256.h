// SHA-256 of bytes that come in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace mercer::client {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::string_view bytes);
  // In lower-case hexadecimal. Ends the computation: nothing can be added afterwards.
  std::string Digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mercer::client
