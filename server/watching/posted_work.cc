#include "server/watching/posted_work.h"

#include <algorithm>
#include <cstddef>

namespace mercer::server {

void PostedWork::Wake(const std::vector<std::shared_ptr<WakeSlot>>& slots) {
  constexpr size_t kWokenTogether = 8;
  for (size_t begin = 0; begin < slots.size(); begin += kWokenTogether) {
    const auto first = slots.begin() + static_cast<std::ptrdiff_t>(begin);
    const size_t count = std::min(slots.size() - begin, kWokenTogether);
    Post([portion = std::vector(first, first + static_cast<std::ptrdiff_t>(count))] {
      for (const std::shared_ptr<WakeSlot>& slot : portion) {
        RunNeeded("telling a watcher", [&slot] {
          slot->Run();
        }).IgnoreError();  // one that fails costs the others nothing
      }
    });
  }
}

void PostedWork::Wait() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &PostedWork::IsIdle));
}

}  // namespace mercer::server
