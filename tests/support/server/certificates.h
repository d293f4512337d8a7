// Certificates for tests: an authority and what it signs, made on the spot.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace mercer::server {

struct PemPair {
  std::string certificate;
  std::string key;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  const std::string& certificate() const { return certificate_; }
  // A certificate for the host `name`, valid from `begin` to `end`.
  PemPair Issue(const std::string& name, absl::Time begin, absl::Time end);
  // Valid from an hour ago for a day.
  PemPair Issue(const std::string& name);

 private:
  struct Keys;
  std::unique_ptr<Keys> keys_;
  std::string certificate_;
  long serial_ = 1;
};

}  // namespace mercer::server
