#include "server/storage/job_transitions.h"

#include <string>

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

bool HasWorker(JobState state) {
  return state == JobState::kRunning || state == JobState::kVerifying ||
         state == JobState::kCancelling;
}

// As it will be read back.
absl::Time Stored(absl::Time time) {
  const bool infinite = time == absl::InfinitePast() || time == absl::InfiniteFuture();
  return infinite ? time : absl::FromUnixMicros(absl::ToUnixMicros(time));
}

bool IsReady(const JobRecord& job, absl::Time clock) {
  return job.state == JobState::kQueued &&
         (job.not_before <= clock || job.not_before > clock + kLongestDelay);
}

// Whether the head of the queue waits for memory that others will give back.
bool WaitsForMemory(const JobRecord& job, const ClaimRequest& request) {
  return job.memory_bytes > request.free_memory_bytes &&
         job.memory_bytes <= request.memory_budget_bytes;
}

bool IsLeftToAnotherServer(const JobRecord& job, const ClaimRequest& request) {
  return job.memory_bytes > request.memory_budget_bytes &&
         job.memory_bytes <= request.largest_budget_bytes;
}

bool IsLeftToAnotherWorker(const JobRecord& job, const ClaimRequest& request) {
  return request.jobs == ClaimedJobs::kTrainings && job.kind != JobKind::kTraining;
}

// Numbers the event and makes it the job's last one, of the attempt that the job is at by now.
void AddEvent(JobTransition& change, const EventDraft& draft, absl::Time now) {
  JobRecord& job = change.job;
  EventRecord event;
  event.sequence = job.last_event.has_value() ? job.last_event->sequence + 1 : 1;
  event.attempt = job.attempt;
  event.iteration = draft.iteration;
  event.time = Stored(draft.time.value_or(now));
  event.payload = draft.payload;
  job.last_event = event;
  change.events.push_back(std::move(event));
}

// The job goes to a final state, or back to the queue.
void Leave(JobTransition& change, JobState state, absl::Time now,
           const std::optional<BlobDigest>& checkpoint) {
  change.job.state = state;
  change.job.lease_worker.clear();
  change.job.lease_until = absl::InfinitePast();
  if (IsFinal(state)) {
    change.job.end_time = Stored(now);
    change.dropped_checkpoint = checkpoint;
  }
}

// Asks a worker or the queue to let go of the job; the caller has the right to.
absl::Status CheckRequest(const JobRecord& job, const OwnerCheck& check) {
  MERCER_RETURN_IF_ERROR(CheckOwner(check, job.caller));
  return IsFinal(job.state) ? JobIsFinal(job.id, job.state) : absl::OkStatus();
}

}  // namespace

absl::Status CheckLease(const JobRecord& job, const Lease& lease) {
  const bool held =
      HasWorker(job.state) && job.lease_worker == lease.worker && job.epoch == lease.epoch;
  return held ? absl::OkStatus() : LeaseLost(lease);
}

JobTransition PlanFirstEvent(const EventDraft& event, absl::Time now) {
  JobTransition change;
  AddEvent(change, event, now);
  return change;
}

absl::Status CheckExpired(const JobRecord& job, const Lease& lease, absl::Time clock) {
  MERCER_RETURN_IF_ERROR(CheckLease(job, lease));
  return job.lease_until <= clock ? absl::OkStatus() : LeaseHeld(lease);
}

absl::StatusOr<JobTransition> PlanEvents(const JobRecord& job, const Lease& lease,
                                         const std::vector<EventDraft>& events, absl::Time now) {
  MERCER_RETURN_IF_ERROR(CheckLease(job, lease));
  JobTransition change{job};
  for (const EventDraft& event : events) {
    AddEvent(change, event, now);
  }
  return change;
}

std::optional<JobTransition> PlanClaim(const JobRecord& job, const ClaimRequest& request,
                                       absl::Time clock) {
  if (!IsReady(job, clock) || WaitsForMemory(job, request) || IsLeftToAnotherServer(job, request) ||
      IsLeftToAnotherWorker(job, request)) {
    return std::nullopt;
  }
  JobTransition change{job};
  JobRecord& next = change.job;
  next.state = JobState::kRunning;
  ++next.attempt;
  ++next.epoch;
  next.lease_worker = request.worker;
  next.lease_until = Stored(clock + request.lease);
  next.not_before = absl::InfinitePast();
  next.error.reset();
  if (next.start_time == absl::InfinitePast()) {
    next.start_time = Stored(request.now);
  }
  change.attempt = AttemptRecord{next.attempt, request.host, request.worker, Stored(request.now)};
  AddEvent(change, request.event, request.now);
  return change;
}

absl::StatusOr<JobTransition> PlanRenewal(const JobRecord& job, const Lease& lease,
                                          absl::Duration duration, absl::Time clock) {
  MERCER_RETURN_IF_ERROR(CheckLease(job, lease));
  JobTransition change{job};
  change.job.lease_until = Stored(clock + duration);
  return change;
}

absl::StatusOr<CheckpointRecord> PlanCheckpoint(const JobRecord& job, const Lease& lease,
                                                const NewCheckpoint& checkpoint) {
  MERCER_RETURN_IF_ERROR(CheckLease(job, lease));
  return CheckpointRecord{job.attempt, checkpoint.iteration, checkpoint.code_version,
                          checkpoint.blob, Stored(checkpoint.now)};
}

absl::StatusOr<JobTransition> PlanVerifying(const JobRecord& job, const Lease& lease,
                                            const EventDraft& event, absl::Time now) {
  MERCER_RETURN_IF_ERROR(CheckLease(job, lease));
  if (job.state == JobState::kCancelling) {
    return CancelRequested(job.id);
  }
  JobTransition change{job};
  change.job.state = JobState::kVerifying;
  AddEvent(change, event, now);
  return change;
}

absl::StatusOr<JobTransition> PlanEnd(const JobRecord& job,
                                      const std::optional<BlobDigest>& checkpoint,
                                      const AttemptEnd& end, absl::Time clock) {
  MERCER_RETURN_IF_ERROR(CheckLease(job, end.lease));
  if (job.state == JobState::kCancelling && end.state != JobState::kCancelled) {
    return CancelRequested(job.id);
  }
  JobTransition change{job};
  Leave(change, end.state, end.now, checkpoint);
  change.job.error = end.error;
  change.job.not_before =
      end.delay > absl::ZeroDuration() ? Stored(clock + end.delay) : absl::InfinitePast();
  AttemptRecord& attempt = change.attempt.emplace();
  attempt.attempt = job.attempt;
  attempt.end_time = Stored(end.now);
  attempt.reason = end.reason;
  for (const EventDraft& event : end.events) {
    AddEvent(change, event, end.now);
  }
  return change;
}

absl::StatusOr<std::optional<JobTransition>> PlanCancel(const JobRecord& job,
                                                        const std::optional<BlobDigest>& checkpoint,
                                                        const CancelRequest& request) {
  MERCER_RETURN_IF_ERROR(CheckRequest(job, request.check));
  if (job.state == JobState::kCancelling) {
    return std::nullopt;
  }
  JobTransition change{job};
  change.job.error.reset();
  change.job.not_before = absl::InfinitePast();
  if (job.state == JobState::kQueued) {
    Leave(change, JobState::kCancelled, request.now, checkpoint);
    AddEvent(change, request.cancelled, request.now);
  } else {
    change.job.state = JobState::kCancelling;
    AddEvent(change, request.cancelling, request.now);
  }
  return change;
}

absl::StatusOr<std::optional<JobTransition>> PlanStop(const JobRecord& job,
                                                      const std::optional<BlobDigest>& checkpoint,
                                                      const StopRequest& request) {
  MERCER_RETURN_IF_ERROR(CheckRequest(job, request.check));
  if (job.state == JobState::kCancelling || job.stop_requested) {
    return std::nullopt;
  }
  JobTransition change{job};
  change.job.stop_requested = true;
  change.job.not_before = absl::InfinitePast();
  const bool has_model = job.kind == JobKind::kTraining && checkpoint.has_value();
  if (job.state == JobState::kQueued && !has_model) {
    Leave(change, JobState::kCancelled, request.now, checkpoint);
    change.job.error = request.no_model;
    AddEvent(change, request.cancelled, request.now);
  } else if (job.state == JobState::kQueued) {
    AddEvent(change, request.queued, request.now);
  } else {
    AddEvent(change, job.state == JobState::kVerifying ? request.verifying : request.running,
             request.now);
  }
  return change;
}

}  // namespace mercer::server
