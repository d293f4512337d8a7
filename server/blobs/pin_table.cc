#include "server/blobs/pin_table.h"

#include "absl/strings/str_cat.h"

#include "core/base/memory/memory_reserve.h"

namespace mercer::server {
namespace {

std::string MarkOf(const std::string& owner, const std::string& digest) {
  return absl::StrCat(owner, "/", kPinPrefix, digest);
}

}  // namespace

absl::StatusOr<std::shared_ptr<void>> TakePin(const std::shared_ptr<PinTable>& pins,
                                              const std::string& digest) {
  const ScopedAllocations scope(Allocations::kNeeded);  // one that is not made would be given back
  const std::string mark = MarkOf(pins->own->path(), digest);
  if (!pins->counts.contains(digest)) {
    const absl::Status marked = pins->files.Create(mark).status();
    if (!marked.ok() && !absl::IsAlreadyExists(marked)) {
      return marked;
    }
  }
  ++pins->counts[digest];
  // The pointee does not matter, only what happens when the last copy goes.
  return std::shared_ptr<void>(pins.get(), [pins, digest, mark](void*) {
    absl::MutexLock lock(&pins->mutex);
    if (--pins->counts[digest] == 0) {
      pins->counts.erase(digest);
      // What cannot be removed now keeps others from deleting the blob until the next start.
      pins->files.Remove(mark).IgnoreError();
    }
  });
}

absl::StatusOr<bool> IsPinnedElsewhere(const PinTable& pins, const std::vector<std::string>& others,
                                       const std::string& digest) {
  for (const std::string& owner : others) {
    for (const std::string& name : {digest, std::string(kPinsAll)}) {
      const absl::Status found = pins.files.Identify(MarkOf(owner, name)).status();
      if (!absl::IsNotFound(found)) {
        return found.ok() ? absl::StatusOr<bool>(true) : found;
      }
    }
  }
  return false;
}

}  // namespace mercer::server
