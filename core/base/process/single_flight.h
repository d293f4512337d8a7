// What several threads want at the same time is made by the first of them, for all.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/process/run_safely.h"

namespace mercer {

// Thread-safe.
template <typename Value>
class SingleFlight {
 public:
  // What `make` answers, called now by this thread, or by another one whose call with the same key has not ended. What it throws is
  // an error for all of them; see RunSafely for `what`.
  absl::StatusOr<Value> Run(const std::string& key, absl::string_view what,
                            absl::FunctionRef<absl::StatusOr<Value>()> make)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<Flight> flight;
    bool is_first = false;
    {
      absl::MutexLock lock(&mutex_);
      std::shared_ptr<Flight>& known = flights_[key];
      is_first = known == nullptr;
      if (is_first) {
        known = std::make_shared<Flight>();
      }
      flight = known;
    }
    if (!is_first) {
      flight->ended.WaitForNotification();
      return flight->result;
    }
    flight->result = RunSafely(what, make);
    {
      absl::MutexLock lock(&mutex_);
      flights_.erase(key);
    }
    flight->ended.Notify();
    return flight->result;
  }

 private:
  struct Flight {
    absl::Notification ended;
    absl::StatusOr<Value> result = absl::UnknownError("");  // once `ended`
  };

  absl::Mutex mutex_;
  HashMap<std::string, std::shared_ptr<Flight>> flights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer
