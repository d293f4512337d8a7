#include "server/storage/memory/memory_job_store.h"

#include <algorithm>
#include <limits>

#include "core/base/status/status_macros.h"
#include "server/storage/memory/memory_queue.h"
#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

bool Matches(const JobRecord& job, const JobFilter& filter) {
  const bool state = filter.states.empty() || std::find(filter.states.begin(), filter.states.end(),
                                                        job.state) != filter.states.end();
  return state && HoldsLabels(job.labels, filter.labels);
}

std::vector<BlobDigest> DropCheckpoint(MemoryJob& job) {
  std::vector<BlobDigest> blobs;
  if (job.checkpoint.has_value()) {
    blobs.push_back(job.checkpoint->blob);
    job.checkpoint.reset();
  }
  return blobs;
}

int64_t AddVersion(std::map<std::string, MemoryModel>& models, const JobRecord& job,
                   const std::string& owner, const NewVersion& version, absl::Time now) {
  MemoryModel& model = models[job.model_name];
  if (model.versions.empty()) {
    model.record.name = job.model_name;
    model.record.owner = owner;
    model.record.create_time = now;
  }
  model.record.update_time = now;
  const int64_t number = model.next_version++;
  VersionRecord& record = model.versions[number];
  record.model = job.model_name;
  record.version = number;
  record.job_id = job.id;
  record.learner = version.learner;
  record.model_blob = version.model_blob;
  record.model_bytes = version.model_bytes;
  record.witness_blob = version.witness_blob;
  record.witness_bytes = version.witness_bytes;
  record.summary = version.summary;
  record.labels = version.labels;
  record.create_time = now;
  return number;
}

JobRecord MakeRecord(const NewJob& job, int64_t number) {
  JobRecord record;
  record.id = job.id;
  record.number = number;
  record.caller = job.caller;
  record.trace_id = job.trace_id;
  record.priority = job.priority;
  record.request = job.request;
  record.request_id = job.request_id;
  record.learner = job.learner;
  record.dataset_ids = job.dataset_ids;
  record.labels = job.labels;
  record.model_name = job.model_name;
  record.memory_bytes = job.memory_bytes;
  record.create_time = job.now;
  return record;
}

absl::StatusOr<std::optional<JobRecord>> FindRequested(const std::map<std::string, MemoryJob>& jobs,
                                                       const std::string& caller,
                                                       const std::string& request_id,
                                                       const std::string& digest) {
  for (const auto& [id, job] : jobs) {
    if (!request_id.empty() && job.record.caller == caller && job.record.request_id == request_id) {
      if (job.request_digest != digest) {
        return RequestIdReused(request_id, id);
      }
      return job.record;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> MemoryJobStore::OwnersOfModel(const std::string& name) const {
  const auto model = state_->models.find(name);
  if (model != state_->models.end() && !model->second.versions.empty()) {
    return {model->second.record.owner};
  }
  std::vector<std::string> callers;
  for (const auto& [number, id] : state_->job_ids) {
    const JobRecord& job = state_->jobs.at(id).record;
    if (!IsFinal(job.state) && job.model_name == name) {
      callers.push_back(job.caller);
    }
  }
  return callers;
}

absl::StatusOr<CreatedJob> MemoryJobStore::Create(NewJob job) {
  absl::MutexLock lock(&state_->mutex);
  MERCER_ASSIGN_OR_RETURN(
      const std::optional<JobRecord> earlier,
      FindRequested(state_->jobs, job.caller, job.request_id, job.request_digest));
  if (earlier.has_value()) {
    return CreatedJob{*earlier, false};
  }
  for (const std::string& owner : OwnersOfModel(job.model_name)) {
    MERCER_RETURN_IF_ERROR(CheckOwner(job.check, owner));
  }
  if (state_->jobs.count(job.id) > 0) {
    return JobExists(job.id);
  }
  for (const std::string& id : job.dataset_ids) {
    const auto dataset = state_->datasets.find(id);
    if (dataset == state_->datasets.end() || dataset->second.record.hidden) {
      return DatasetNotFound(id);
    }
  }
  MERCER_RETURN_IF_ERROR(CheckMemoryQuota(state_->jobs, job));
  const int64_t number = ++state_->last_number;
  MemoryJob& stored = state_->jobs[job.id];
  stored.record = MakeRecord(job, number);
  stored.request_digest = job.request_digest;
  AppendMemoryEvents(stored, {job.event}, job.now);
  state_->job_ids[number] = job.id;
  return CreatedJob{stored.record, true};
}

std::optional<JobRecord> MemoryJobStore::Claim(const ClaimRequest& request) {
  absl::MutexLock lock(&state_->mutex);
  MemoryJob* head = FindMemoryHead(state_->jobs, state_->queue_turns, request);
  if (head == nullptr || (head->record.memory_bytes > request.free_memory_bytes &&
                          head->record.memory_bytes <= request.memory_budget_bytes)) {
    return std::nullopt;
  }
  JobRecord& record = head->record;
  record.state = JobState::kRunning;
  record.attempt += 1;
  record.epoch += 1;
  record.lease_worker = request.worker;
  record.lease_until = request.lease_until;
  record.error.reset();
  state_->queue_turns[record.caller] = ++state_->last_turn;
  if (record.start_time == absl::InfinitePast()) {
    record.start_time = request.now;
  }
  AttemptRecord attempt;
  attempt.attempt = record.attempt;
  attempt.host = request.host;
  attempt.worker = request.worker;
  attempt.start_time = request.now;
  head->attempts.push_back(attempt);
  AppendMemoryEvents(*head, {request.event}, request.now);
  return record;
}

absl::StatusOr<EventRecord> MemoryJobStore::MarkVerifying(const Lease& lease,
                                                          const EventDraft& event, absl::Time now) {
  absl::MutexLock lock(&state_->mutex);
  MemoryJob* job = FindLeased(state_->jobs, lease);
  if (job == nullptr) {
    return LeaseLost(lease);
  }
  if (job->record.state == JobState::kCancelling) {
    return CancelRequested(lease.job_id);
  }
  job->record.state = JobState::kVerifying;
  return AppendMemoryEvents(*job, {event}, now).front();
}

absl::StatusOr<std::optional<BlobDigest>> MemoryJobStore::ReplaceCheckpoint(
    const Lease& lease, const NewCheckpoint& checkpoint) {
  absl::MutexLock lock(&state_->mutex);
  MemoryJob* job = FindLeased(state_->jobs, lease);
  if (job == nullptr) {
    return LeaseLost(lease);
  }
  std::optional<BlobDigest> previous;
  if (job->checkpoint.has_value() && job->checkpoint->blob != checkpoint.blob) {
    previous = job->checkpoint->blob;
  }
  job->checkpoint = CheckpointRecord{job->record.attempt, checkpoint.iteration,
                                     checkpoint.code_version, checkpoint.blob, checkpoint.now};
  return previous;
}

absl::StatusOr<EndedAttempt> MemoryJobStore::Finish(const AttemptEnd& end) {
  absl::MutexLock lock(&state_->mutex);
  MemoryJob* job = FindLeased(state_->jobs, end.lease);
  if (job == nullptr) {
    return LeaseLost(end.lease);
  }
  JobRecord& record = job->record;
  if (record.state == JobState::kCancelling && end.state != JobState::kCancelled) {
    return CancelRequested(record.id);
  }
  const std::string owner = OwnersOfModel(record.model_name).front();  // this job has not ended
  record.state = end.state;
  record.lease_worker.clear();
  record.lease_until = absl::InfinitePast();
  record.error = end.error;
  record.not_before = end.not_before;
  job->attempts.back().end_time = end.now;
  job->attempts.back().reason = end.reason;
  EndedAttempt result;
  if (IsFinal(end.state)) {
    record.end_time = end.now;
    result.released_blobs = DropCheckpoint(*job);
  }
  if (!end.versions.empty()) {
    for (const NewVersion& version : end.versions) {
      record.model_version = AddVersion(state_->models, record, owner, version, end.now);
    }
    MemoryModel& model = state_->models[record.model_name];
    DeletedVersions old = DropOldVersions(model, model.record.keep_newest, /*dry_run=*/false);
    result.deleted_versions = std::move(old.versions);
    result.released_blobs.insert(result.released_blobs.end(), old.released_blobs.begin(),
                                 old.released_blobs.end());
  }
  result.events = AppendMemoryEvents(*job, end.events, end.now);
  result.job = record;
  return result;
}

absl::StatusOr<EndedAttempt> MemoryJobStore::Cancel(const CancelRequest& request) {
  absl::MutexLock lock(&state_->mutex);
  const auto found = state_->jobs.find(request.job_id);
  if (found == state_->jobs.end()) {
    return JobNotFound(request.job_id);
  }
  MemoryJob& job = found->second;
  MERCER_RETURN_IF_ERROR(CheckOwner(request.check, job.record.caller));
  if (IsFinal(job.record.state)) {
    return JobIsFinal(request.job_id, job.record.state);
  }
  EndedAttempt result;
  if (job.record.state == JobState::kQueued) {
    job.record.state = JobState::kCancelled;
    job.record.not_before = absl::InfinitePast();
    job.record.error.reset();
    job.record.end_time = request.now;
    result.released_blobs = DropCheckpoint(job);
    result.events = AppendMemoryEvents(job, {request.cancelled}, request.now);
  } else if (job.record.state != JobState::kCancelling) {
    job.record.state = JobState::kCancelling;
    result.events = AppendMemoryEvents(job, {request.cancelling}, request.now);
  }
  result.job = job.record;
  return result;
}

absl::StatusOr<EndedAttempt> MemoryJobStore::Stop(const StopRequest& request) {
  absl::MutexLock lock(&state_->mutex);
  const auto found = state_->jobs.find(request.job_id);
  if (found == state_->jobs.end()) {
    return JobNotFound(request.job_id);
  }
  MemoryJob& job = found->second;
  JobRecord& record = job.record;
  MERCER_RETURN_IF_ERROR(CheckOwner(request.check, record.caller));
  if (IsFinal(record.state)) {
    return JobIsFinal(request.job_id, record.state);
  }
  EndedAttempt result;
  if (record.state != JobState::kCancelling && !record.stop_requested) {
    EventDraft event = record.state == JobState::kVerifying ? request.verifying : request.running;
    if (record.state == JobState::kQueued) {
      event = job.checkpoint.has_value() ? request.queued : request.cancelled;
      if (!job.checkpoint.has_value()) {
        record.state = JobState::kCancelled;
        record.end_time = request.now;
        record.error = request.no_model;
      }
    }
    record.stop_requested = true;
    record.not_before = absl::InfinitePast();
    result.events = AppendMemoryEvents(job, {event}, request.now);
  }
  result.job = record;
  return result;
}

DeletedJobs MemoryJobStore::RemoveFinished(const FinishedJobs& which) {
  absl::MutexLock lock(&state_->mutex);
  std::vector<std::pair<absl::Time, int64_t>> ended;
  for (const auto& [id, job] : state_->jobs) {
    if (IsFinal(job.record.state) && job.record.end_time < which.ended_before) {
      ended.emplace_back(job.record.end_time, job.record.number);
    }
  }
  std::sort(ended.begin(), ended.end());
  DeletedJobs deleted;
  int64_t events = 0;
  for (const auto& [time, number] : ended) {
    const auto found = state_->jobs.find(state_->job_ids.at(number));
    events += static_cast<int64_t>(found->second.events.size());
    const bool many = events > which.max_events && !deleted.ids.empty();
    if (many || static_cast<int>(deleted.ids.size()) >= which.max_jobs) {
      break;
    }
    for (BlobDigest& blob : DropCheckpoint(found->second)) {
      deleted.released_blobs.push_back(std::move(blob));
    }
    deleted.ids.push_back(found->first);
    state_->jobs.erase(found);
    state_->job_ids.erase(number);
  }
  return deleted;
}

void MemoryJobStore::CreateJob(NewJob job, Done<CreatedJob> done) { done(Create(std::move(job))); }

absl::StatusOr<std::optional<JobRecord>> MemoryJobStore::FindRequest(
    const std::string& caller, const std::string& request_id, const std::string& request_digest) {
  absl::MutexLock lock(&state_->mutex);
  return FindRequested(state_->jobs, caller, request_id, request_digest);
}

void MemoryJobStore::ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) {
  done(Claim(request));
}

absl::StatusOr<absl::Time> MemoryJobStore::NextReadyTime() {
  absl::MutexLock lock(&state_->mutex);
  return FindMemoryReadyTime(state_->jobs);
}

void MemoryJobStore::RenewLease(Lease lease, absl::Time lease_until, Done<RenewedLease> done) {
  absl::StatusOr<RenewedLease> result = LeaseLost(lease);
  {
    absl::MutexLock lock(&state_->mutex);
    if (MemoryJob* job = FindLeased(state_->jobs, lease); job != nullptr) {
      job->record.lease_until = lease_until;
      result = RenewedLease{job->record.state, job->record.stop_requested};
    }
  }
  done(std::move(result));
}

void MemoryJobStore::BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                                    Done<EventRecord> done) {
  done(MarkVerifying(lease, event, now));
}

void MemoryJobStore::SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                                    Done<std::optional<BlobDigest>> done) {
  done(ReplaceCheckpoint(lease, checkpoint));
}

void MemoryJobStore::EndAttempt(AttemptEnd end, Done<EndedAttempt> done) { done(Finish(end)); }

void MemoryJobStore::CancelJob(CancelRequest request, Done<EndedAttempt> done) {
  done(Cancel(request));
}

void MemoryJobStore::StopJob(StopRequest request, Done<EndedAttempt> done) { done(Stop(request)); }

void MemoryJobStore::DeleteFinishedJobs(FinishedJobs which, Done<DeletedJobs> done) {
  done(RemoveFinished(which));
}

absl::StatusOr<JobRecord> MemoryJobStore::GetJob(const std::string& id) {
  absl::MutexLock lock(&state_->mutex);
  const auto found = state_->jobs.find(id);
  if (found == state_->jobs.end()) {
    return JobNotFound(id);
  }
  return found->second.record;
}

absl::StatusOr<Page<JobRecord>> MemoryJobStore::ListJobs(const JobFilter& filter,
                                                         const PageRequest& page) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = DescribeJobsQuery(filter.states, filter.labels);
  MERCER_ASSIGN_OR_RETURN(const int64_t before,
                          ReadPageToken(query, page.token, std::numeric_limits<int64_t>::max()));
  absl::MutexLock lock(&state_->mutex);
  std::vector<std::pair<int64_t, JobRecord>> items;
  for (auto entry = state_->job_ids.rbegin(); entry != state_->job_ids.rend(); ++entry) {
    const JobRecord& job = state_->jobs.at(entry->second).record;
    if (entry->first < before && Matches(job, filter) && static_cast<int>(items.size()) <= size) {
      items.emplace_back(entry->first, job);
    }
  }
  return CutPage(std::move(items), size, query);
}

absl::StatusOr<std::vector<AttemptRecord>> MemoryJobStore::ListAttempts(const std::string& job_id) {
  absl::MutexLock lock(&state_->mutex);
  const auto found = state_->jobs.find(job_id);
  return found == state_->jobs.end() ? std::vector<AttemptRecord>() : found->second.attempts;
}

absl::StatusOr<std::optional<CheckpointRecord>> MemoryJobStore::GetCheckpoint(
    const std::string& job_id) {
  absl::MutexLock lock(&state_->mutex);
  const auto found = state_->jobs.find(job_id);
  return found == state_->jobs.end() ? std::nullopt : found->second.checkpoint;
}

absl::StatusOr<std::map<JobState, int64_t>> MemoryJobStore::CountJobs() {
  absl::MutexLock lock(&state_->mutex);
  std::map<JobState, int64_t> counts;
  for (const auto& [id, job] : state_->jobs) {
    ++counts[job.record.state];
  }
  return counts;
}

}  // namespace mercer::server
