#include "server/jobs/housekeeper.h"

#include "core/base/process/run_safely.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {

void Housekeeper::DoRound() {
  const JobManagerDependencies& dependencies = environment_.dependencies;
  for (const AttemptPointer& attempt : running_.All()) {
    // What one of them cannot do now is no reason to leave out the others.
    RunSafely("housekeeping of an attempt", [&] {
      attempt->RunHousekeeping();
      return absl::OkStatus();
    }).IgnoreError();
  }
  const absl::StatusOr<bool> taken_over =
      RunSafely("looking at leases", [this] { return leases_.Look(); });
  const bool tried_again = given_up_.TryAgain();
  if (running_.ForgetEnded() || tried_again || taken_over.value_or(true)) {
    signal_.Tell();  // a job is queued again, or its caller has one less
  }
  signal_.TellIfReady(dependencies.clock->Now());
  RunSafely("forgetting jobs", [this] {
    ender_.ForgetLeft();
    return absl::OkStatus();
  }).IgnoreError();
  // What fails is found again by the next round.
  DeleteUnusedDatasets(*dependencies.storage, *dependencies.blobs).IgnoreError();
}

}  // namespace mercer::server
