// The pins of blobs: counted for this process, and shown to others by an empty file with the name of the blob in its folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/numeric/hash_table.h"
#include "server/blobs/owned_folder.h"

namespace mercer::server {

// Pinned so, everything is.
inline constexpr char kPinsAll[] = "";

// Begins the names of the files in the folder of a process that show its pins to others.
inline constexpr char kPinPrefix[] = "pin-";

// Outlives the store in the pins that outlive it.
struct PinTable {
  PinTable(FileSystem* file_system, std::shared_ptr<OwnedFolder> folder)
      : files(*file_system), own(std::move(folder)) {}

  FileSystem& files;
  const std::shared_ptr<OwnedFolder> own;
  absl::Mutex mutex;
  HashMap<std::string, int64_t> counts ABSL_GUARDED_BY(mutex);
};

// Until the last copy of the answer goes, which takes the mutex. Errors: those of the file system.
absl::StatusOr<std::shared_ptr<void>> TakePin(const std::shared_ptr<PinTable>& pins,
                                              const std::string& digest)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(pins->mutex);

// Whether another process pins the blob. `others`: the folders of all others. Errors: those of the file system.
absl::StatusOr<bool> IsPinnedElsewhere(const PinTable& pins, const std::vector<std::string>& others,
                                       const std::string& digest);

}  // namespace mercer::server
