// What a caller may do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace mercer::server {

// Each scope stands for itself, except that kAdmin includes all others.
enum class Scope : uint8_t {
  kRead = 1,     // see data sets, jobs, models and their progress
  kPredict = 2,  // predict and evaluate
  kTrain = 4,    // upload, train, cancel, change and delete
  kAdmin = 8,    // back up; everything else
  kAny = 15,     // what each of them lets do
};

// "read", "predict", "train", "admin"
std::string_view ScopeName(Scope scope);

class ScopeSet {
 public:
  static ScopeSet All() { return ScopeSet(kEvery); }
  ScopeSet() = default;

  void Add(Scope scope) { bits_ |= static_cast<uint8_t>(scope); }
  bool Allows(Scope scope) const {
    return (bits_ & (static_cast<uint8_t>(scope) | static_cast<uint8_t>(Scope::kAdmin))) != 0;
  }
  bool empty() const { return bits_ == 0; }

  friend bool operator==(const ScopeSet&, const ScopeSet&) = default;

 private:
  static constexpr uint8_t kEvery = 15;
  explicit ScopeSet(uint8_t bits) : bits_(bits) {}

  uint8_t bits_ = 0;
};

// "read,predict" -> the set. Errors: kInvalidArgument naming the word that is no scope, or that
// there is none.
absl::StatusOr<ScopeSet> ParseScopes(std::string_view text);

// "read,predict", in the order of the enumeration.
std::string FormatScopes(ScopeSet scopes);

}  // namespace mercer::server
