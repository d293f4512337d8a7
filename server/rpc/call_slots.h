// How many calls one caller may have at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/numeric/hash_table.h"

namespace mercer::server {

// Thread-safe. Outlives its slots.
class CallSlots {
 public:
  // Calls of one kind take no place from those of the other.
  enum Kind : uint8_t { kOrdinary, kEndsWork };

  using Key = std::pair<std::string, Kind>;  // a caller and what kind of calls

  // One call that runs; gives the place back when it is destroyed.
  class Slot {
   public:
    Slot() = default;
    Slot(Slot&& other) noexcept;
    Slot& operator=(Slot&& other) noexcept;
    ~Slot();

   private:
    friend class CallSlots;
    Slot(CallSlots& slots, Key key) : slots_(&slots), key_(std::move(key)) {}

    CallSlots* slots_ = nullptr;  // null: holds nothing
    Key key_;
  };

  // `per_caller`, for each kind; 0: any number.
  explicit CallSlots(int64_t per_caller) : per_caller_(per_caller) {}
  // For calls from now on; those that run count, and none of them ends.
  void SetLimit(int64_t per_caller) ABSL_LOCKS_EXCLUDED(mutex_);

  // Errors: kResourceExhausted with reason TOO_MANY_CALLS.
  absl::StatusOr<Slot> Take(const std::string& caller, Kind kind = kOrdinary)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Slots of `caller` that are taken.
  int64_t taken(const std::string& caller, Kind kind = kOrdinary) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Release(const Key& key) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  int64_t per_caller_ ABSL_GUARDED_BY(mutex_);
  // Of callers who have a call now: callers who have gone leave nothing behind.
  HashMap<Key, int64_t> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
