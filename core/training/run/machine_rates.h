// What the elementary operations of training cost on this machine.
#pragma once

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/training/contract/work.h"

namespace mercer {

// Seconds of one thread for one operation of each kind, measured with small problems in about 100
// ms of processor time. Time that other threads take is not counted.
WorkCount MeasureRates();

// The same as measured on one machine, for decisions that must not depend on where they are made:
// one thread of an AMD EPYC with AVX2.
WorkCount UsualRates();

// Measures once, when the rates are first asked for. Thread-safe.
class MachineRates {
 public:
  WorkCount Get() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (!rates_.has_value()) {
      rates_ = MeasureRates();
    }
    return *rates_;
  }

 private:
  absl::Mutex mutex_;
  std::optional<WorkCount> rates_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer
