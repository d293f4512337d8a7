// A value that may be replaced while other threads read it.
#pragma once

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace mercer {

// Reads and writes as a T does. Thread-safe: each read sees one value as a whole, so whoever
// decides something by it more than once reads it once.
template <typename T>
class LiveValue {
 public:
  LiveValue(T value) : value_(std::move(value)) {}
  LiveValue(const LiveValue& other) : value_(other.Get()) {}
  LiveValue& operator=(const LiveValue& other) { return *this = other.Get(); }
  LiveValue& operator=(T value) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    value_ = std::move(value);
    return *this;
  }

  T Get() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::ReaderMutexLock lock(&mutex_);
    return value_;
  }
  operator T() const { return Get(); }

 private:
  mutable absl::Mutex mutex_;
  T value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer
