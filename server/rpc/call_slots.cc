#include "server/rpc/call_slots.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer::server {

CallSlots::Slot::Slot(Slot&& other) noexcept
    : slots_(std::exchange(other.slots_, nullptr)), key_(std::move(other.key_)) {}

CallSlots::Slot& CallSlots::Slot::operator=(Slot&& other) noexcept {
  std::swap(slots_, other.slots_);
  std::swap(key_, other.key_);
  return *this;
}

CallSlots::Slot::~Slot() {
  if (slots_ != nullptr) {
    slots_->Release(key_);
  }
}

void CallSlots::SetLimit(int64_t per_caller) {
  absl::MutexLock lock(&mutex_);
  per_caller_ = per_caller;
}

absl::StatusOr<CallSlots::Slot> CallSlots::Take(const std::string& caller, Kind kind) {
  absl::MutexLock lock(&mutex_);
  Key key(caller, kind);
  int64_t& taken = taken_[key];
  if (per_caller_ > 0 && taken >= per_caller_) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          caller, " has ", taken, " calls at a time, streams included, at most ",
                          per_caller_, " are allowed; try again when one has ended")),
                      "TOO_MANY_CALLS",
                      {{"caller", caller}, {"limit_calls", absl::StrCat(per_caller_)}});
  }
  ++taken;
  return Slot(*this, std::move(key));
}

int64_t CallSlots::taken(const std::string& caller, Kind kind) const {
  absl::MutexLock lock(&mutex_);
  const auto found = taken_.find(Key(caller, kind));
  return found == taken_.end() ? 0 : found->second;
}

void CallSlots::Release(const Key& key) {
  absl::MutexLock lock(&mutex_);
  const auto found = taken_.find(key);
  if (--found->second == 0) {
    taken_.erase(found);
  }
}

}  // namespace mercer::server
