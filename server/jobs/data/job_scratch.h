// Where the tables of a job are kept: in memory, or on the disk when they would take too much of the jobs' memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "core/base/memory/scratch_space.h"
#include "core/training/recipe/recipe.h"
#include "server/blobs/disk_guard.h"

namespace mercer::server {

// A space for a job, and what the job takes with it.
struct ScratchChoice {
  const ScratchSpace* space = nullptr;  // null: everything is in memory
  int64_t memory_bytes = 0;             // upper bound; absurd ones are larger than every budget
};

// Thread-safe.
class JobScratch {
 public:
  // `folder` empty: everything is in memory. `disk` may be null: files may then fill the disk. Tables of up to
  // `least_bytes` are in memory always, those of a quarter of the budget if the job fits then.
  JobScratch(const std::string& folder, int64_t least_bytes, int64_t budget_bytes,
             const DiskGuard* disk);

  // Tables are in memory as far as the job takes no more than `limit_bytes` with them; where it takes more in any case, as few as
  // possible are. The same for the limit that a choice has come to. Errors: those of EstimateRecipeMemory.
  absl::StatusOr<ScratchChoice> Choose(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                       const Dataset& dataset, int64_t limit_bytes,
                                       const RunContext& context) const;

 private:
  std::unique_ptr<const ScratchSpace> usual_;
  std::unique_ptr<const ScratchSpace> tight_;
};

}  // namespace mercer::server
