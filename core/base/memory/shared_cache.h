// A byte-bounded cache shared by the parts of one job, or of several: folds, classes, paths and
// searches that need the same distances find them here. Keys name the content; a value is a pure
// function of its key, so a hit and a miss give the same bits, and eviction (least recently used
// first) changes time only. A value larger than the cache is found while somebody else holds it.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/status/status_macros.h"

namespace mercer {

class SharedCache {
 public:
  explicit SharedCache(size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  // The value of `key`, made by `make` when it is not there. `make` runs without the lock; two
  // callers may both make it. With an empty key it is made and returned without being kept. `bytes`
  // says how many a value takes that was made, or kNotKept.
  template <typename T>
  absl::StatusOr<std::shared_ptr<const T>> GetOrMake(
      const std::string& key, const std::function<size_t(const T&)>& bytes,
      const std::function<absl::StatusOr<std::shared_ptr<const T>>()>& make) {
    if (!key.empty()) {
      if (std::shared_ptr<const void> found = Find(key)) {
        return std::static_pointer_cast<const T>(found);
      }
    }
    MERCER_ASSIGN_OR_RETURN(std::shared_ptr<const T> made, make());
    const size_t size = key.empty() ? kNotKept : bytes(*made);
    if (size != kNotKept) {
      Insert(key, size, made);
    }
    return made;
  }
  static constexpr size_t kNotKept = std::numeric_limits<size_t>::max();

  // Whether it keeps a value of so many bytes when nobody else holds it.
  bool Keeps(size_t bytes) const { return bytes <= capacity_bytes_; }
  size_t size_bytes() const;

 private:
  struct Entry {
    std::string key;
    size_t bytes;
    std::shared_ptr<const void> value;
  };

  std::shared_ptr<const void> Find(const std::string& key);
  void Insert(const std::string& key, size_t bytes, std::shared_ptr<const void> value);

  const size_t capacity_bytes_;
  mutable absl::Mutex mutex_;
  size_t size_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  std::map<std::string, std::list<Entry>::iterator> index_ ABSL_GUARDED_BY(mutex_);
  // Values larger than the capacity, which others hold.
  std::map<std::string, std::weak_ptr<const void>> large_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer
