#include "core/base/memory/shared_cache.h"

namespace mercer {

size_t SharedCache::size_bytes() const {
  absl::MutexLock lock(&mutex_);
  return size_bytes_;
}

std::shared_ptr<const void> SharedCache::Find(const std::string& key) {
  absl::MutexLock lock(&mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) {
    const auto large = large_.find(key);
    return large != large_.end() ? large->second.lock() : nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->value;
}

void SharedCache::Insert(const std::string& key, size_t bytes, std::shared_ptr<const void> value) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(large_, [](const auto& entry) { return entry.second.expired(); });
  if (bytes > capacity_bytes_) {
    large_.try_emplace(key, value);  // one that lives stays
    return;
  }
  if (index_.count(key) > 0) {
    return;
  }
  // Everything that may run out of memory comes before any change, so that a failure leaves the
  // cache as it was.
  std::list<Entry> entry;
  entry.push_front({key, bytes, std::move(value)});
  index_.emplace(key, entry.begin());
  while (size_bytes_ + bytes > capacity_bytes_) {
    const Entry& oldest = entries_.back();
    size_bytes_ -= oldest.bytes;
    index_.erase(oldest.key);
    entries_.pop_back();
  }
  entries_.splice(entries_.begin(), entry);
  size_bytes_ += bytes;
}

}  // namespace mercer
