#include "server/jobs/data/job_scratch.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "absl/synchronization/mutex.h"

#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

constexpr int64_t kLargestShare = 4;  // one of so many parts of the budget

// Leaves on the disk what is kept free for the end of the work under way.
class GuardedScratchSpace final : public ScratchSpace {
 public:
  GuardedScratchSpace(const std::string& folder, int64_t largest_in_memory, const DiskGuard* disk,
                      std::shared_ptr<absl::Mutex> mutex)
      : ScratchSpace(folder, static_cast<size_t>(largest_in_memory)),
        disk_(disk),
        mutex_(std::move(mutex)) {}

 protected:
  int Allocate(int descriptor, size_t size) const override {
    absl::MutexLock lock(mutex_.get());  // no two take the same room
    if (disk_ != nullptr && !disk_->CheckRoom(static_cast<int64_t>(size)).ok()) {
      return ENOSPC;
    }
    return ScratchSpace::Allocate(descriptor, size);
  }

 private:
  const DiskGuard* const disk_;
  const std::shared_ptr<absl::Mutex> mutex_;
};

// An estimate is any size_t; one that is absurd stays larger than every budget.
int64_t SignedBytes(size_t bytes) {
  constexpr size_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(bytes, kMost));
}

}  // namespace

JobScratch::JobScratch(const std::string& folder, int64_t least_bytes, int64_t budget_bytes,
                       const DiskGuard* disk) {
  if (!folder.empty()) {
    const auto mutex = std::make_shared<absl::Mutex>();
    usual_ = std::make_unique<GuardedScratchSpace>(
        folder, std::max(least_bytes, budget_bytes / kLargestShare), disk, mutex);
    tight_ = std::make_unique<GuardedScratchSpace>(folder, least_bytes, disk, mutex);
  }
}

absl::StatusOr<ScratchChoice> JobScratch::Choose(const LearnerEntry& entry,
                                                 const TrainingRecipe& recipe,
                                                 const Dataset& dataset, int64_t limit_bytes,
                                                 const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const size_t usual,
                          EstimateRecipeMemory(entry, recipe, dataset, context, usual_.get()));
  if (tight_ == nullptr || SignedBytes(usual) <= limit_bytes) {
    return ScratchChoice{usual_.get(), SignedBytes(usual)};
  }
  MERCER_ASSIGN_OR_RETURN(const size_t tight,
                          EstimateRecipeMemory(entry, recipe, dataset, context, tight_.get()));
  return ScratchChoice{tight_.get(), SignedBytes(tight)};
}

}  // namespace mercer::server
