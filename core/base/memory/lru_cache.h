// Values by their keys, of so many bytes together: those that were not used lately leave for new ones.
//
// "Lately" is told as by the hand of a clock: the oldest goes, unless it was found since the hand came by; then it begins a further
// round. So those who look for values wait for nobody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/base/numeric/hash_table.h"

namespace mercer {

// Thread-safe. Where memory runs out it stays as it was, but for what was to be replaced.
template <typename Value>
class LruCache {
 public:
  struct Entry {
    Entry(std::string its_key, Value its_value, int64_t its_bytes)
        : key(std::move(its_key)), value(std::move(its_value)), bytes(its_bytes) {}

    const std::string key;
    Value value;
    const int64_t bytes;
    mutable std::atomic<bool> used{false};  // since it came, or the hand came by
  };
  // What has left. Nobody waits while it is destroyed.
  using Entries = std::list<Entry>;

  explicit LruCache(int64_t most_bytes) : most_bytes_(most_bytes) {}

  // A copy; `Value()` when it is not there.
  Value Find(std::string_view key) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::ReaderMutexLock lock(&mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
      return Value();
    }
    found->second->used.store(true, std::memory_order_relaxed);
    return found->second->value;
  }
  // In the place of one that is there. What has more bytes than all may have is not kept.
  Entries Put(std::string key, Value value, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    Entries added;
    added.emplace_front(std::move(key), std::move(value), bytes);
    Entries removed;
    absl::MutexLock lock(&mutex_);
    if (const auto earlier = by_key_.find(added.front().key); earlier != by_key_.end()) {
      Move(earlier->second, removed);
    }
    if (bytes > most_bytes_) {
      return removed;
    }
    by_key_.emplace(added.front().key, added.begin());
    while (bytes_ + bytes > most_bytes_) {
      const auto last = std::prev(entries_.end());
      if (last->used.exchange(false, std::memory_order_relaxed)) {
        entries_.splice(entries_.begin(), entries_, last);
      } else {
        Move(last, removed);
      }
    }
    entries_.splice(entries_.begin(), added);
    bytes_ += bytes;
    return removed;
  }
  // One or none.
  Entries Take(std::string_view key) ABSL_LOCKS_EXCLUDED(mutex_) {
    Entries removed;
    absl::MutexLock lock(&mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      Move(found->second, removed);
    }
    return removed;
  }
  // All of which `leaves` says so.
  template <typename Condition>
  Entries TakeIf(const Condition& leaves) ABSL_LOCKS_EXCLUDED(mutex_) {
    Entries removed;
    absl::MutexLock lock(&mutex_);
    for (auto next = entries_.begin(); next != entries_.end();) {
      const auto entry = next++;
      if (leaves(std::as_const(*entry))) {
        Move(entry, removed);
      }
    }
    return removed;
  }

  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::ReaderMutexLock lock(&mutex_);
    return entries_.size();
  }
  int64_t bytes() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::ReaderMutexLock lock(&mutex_);
    return bytes_;
  }

 private:
  void Move(typename Entries::iterator entry, Entries& to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    by_key_.erase(entry->key);
    bytes_ -= entry->bytes;
    to.splice(to.end(), entries_, entry);
  }

  const int64_t most_bytes_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);  // the hand is at the last one
  HashMap<std::string_view, typename Entries::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mercer
