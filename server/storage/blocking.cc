// The blocking twins of the asynchronous changes.
#include <utility>

#include "server/storage/storage.h"

namespace mercer::server {

absl::StatusOr<DatasetRecord> DatasetStore::CreateDataset(DatasetRecord dataset) {
  return WaitFor<DatasetRecord>(
      [&](Done<DatasetRecord> done) { CreateDataset(std::move(dataset), std::move(done)); });
}

absl::StatusOr<DatasetRecord> DatasetStore::UpdateDataset(std::string id, Labels labels,
                                                          OwnerCheck check) {
  return WaitFor<DatasetRecord>([&](Done<DatasetRecord> done) {
    UpdateDataset(std::move(id), std::move(labels), std::move(check), std::move(done));
  });
}

absl::StatusOr<DatasetRecord> DatasetStore::DeleteDataset(std::string id, OwnerCheck check) {
  return WaitFor<DatasetRecord>([&](Done<DatasetRecord> done) {
    DeleteDataset(std::move(id), std::move(check), std::move(done));
  });
}

absl::StatusOr<DatasetRecord> DatasetStore::DeleteHiddenDataset(std::string id) {
  return WaitFor<DatasetRecord>(
      [&](Done<DatasetRecord> done) { DeleteHiddenDataset(std::move(id), std::move(done)); });
}

absl::StatusOr<DatasetRecord> DatasetStore::HideDataset(std::string id, OwnerCheck check) {
  return WaitFor<DatasetRecord>([&](Done<DatasetRecord> done) {
    HideDataset(std::move(id), std::move(check), std::move(done));
  });
}

absl::StatusOr<CreatedJob> JobStore::CreateJob(NewJob job) {
  return WaitFor<CreatedJob>(
      [&](Done<CreatedJob> done) { CreateJob(std::move(job), std::move(done)); });
}

absl::StatusOr<std::optional<JobRecord>> JobStore::ClaimJob(ClaimRequest request) {
  using Result = std::optional<JobRecord>;
  return WaitFor<Result>([&](Done<Result> done) { ClaimJob(std::move(request), std::move(done)); });
}

absl::StatusOr<RenewedLease> JobStore::RenewLease(Lease lease, absl::Duration duration) {
  return WaitFor<RenewedLease>(
      [&](Done<RenewedLease> done) { RenewLease(std::move(lease), duration, std::move(done)); });
}

absl::StatusOr<EventRecord> JobStore::BeginVerifying(Lease lease, EventDraft event,
                                                     absl::Time now) {
  return WaitFor<EventRecord>([&](Done<EventRecord> done) {
    BeginVerifying(std::move(lease), std::move(event), now, std::move(done));
  });
}

absl::StatusOr<std::optional<BlobDigest>> JobStore::SaveCheckpoint(Lease lease,
                                                                   NewCheckpoint checkpoint) {
  using Result = std::optional<BlobDigest>;
  return WaitFor<Result>([&](Done<Result> done) {
    SaveCheckpoint(std::move(lease), std::move(checkpoint), std::move(done));
  });
}

absl::StatusOr<EndedAttempt> JobStore::EndAttempt(AttemptEnd end) {
  return WaitFor<EndedAttempt>(
      [&](Done<EndedAttempt> done) { EndAttempt(std::move(end), std::move(done)); });
}

absl::StatusOr<DeletedJobs> JobStore::DeleteFinishedJobs(FinishedJobs which) {
  return WaitFor<DeletedJobs>(
      [&](Done<DeletedJobs> done) { DeleteFinishedJobs(which, std::move(done)); });
}

absl::StatusOr<JobRecord> JobStore::UpdateJob(std::string id, Labels labels, OwnerCheck check) {
  return WaitFor<JobRecord>([&](Done<JobRecord> done) {
    UpdateJob(std::move(id), std::move(labels), std::move(check), std::move(done));
  });
}

absl::StatusOr<DeletedJob> JobStore::DeleteJob(std::string id, OwnerCheck check) {
  return WaitFor<DeletedJob>(
      [&](Done<DeletedJob> done) { DeleteJob(std::move(id), std::move(check), std::move(done)); });
}

absl::StatusOr<EndedAttempt> JobStore::CancelJob(CancelRequest request) {
  return WaitFor<EndedAttempt>(
      [&](Done<EndedAttempt> done) { CancelJob(std::move(request), std::move(done)); });
}

absl::StatusOr<EndedAttempt> JobStore::StopJob(StopRequest request) {
  return WaitFor<EndedAttempt>(
      [&](Done<EndedAttempt> done) { StopJob(std::move(request), std::move(done)); });
}

absl::StatusOr<std::vector<EventRecord>> EventLog::Append(Lease lease,
                                                          std::vector<EventDraft> events,
                                                          absl::Time now) {
  using Result = std::vector<EventRecord>;
  return WaitFor<Result>([&](Done<Result> done) {
    Append(std::move(lease), std::move(events), now, std::move(done));
  });
}

absl::StatusOr<DeletedVersions> ModelStore::DeleteModel(std::string name, int64_t version,
                                                        absl::Time now, OwnerCheck check) {
  return WaitFor<DeletedVersions>([&](Done<DeletedVersions> done) {
    DeleteModel(std::move(name), version, now, std::move(check), std::move(done));
  });
}

absl::StatusOr<ModelRecord> ModelStore::UpdateModel(ModelUpdate update) {
  return WaitFor<ModelRecord>(
      [&](Done<ModelRecord> done) { UpdateModel(std::move(update), std::move(done)); });
}

absl::StatusOr<VersionRecord> ModelStore::UpdateVersion(VersionUpdate update) {
  return WaitFor<VersionRecord>(
      [&](Done<VersionRecord> done) { UpdateVersion(std::move(update), std::move(done)); });
}

absl::StatusOr<DeletedVersions> ModelStore::SetRetention(RetentionChange change) {
  return WaitFor<DeletedVersions>(
      [&](Done<DeletedVersions> done) { SetRetention(std::move(change), std::move(done)); });
}

absl::StatusOr<AliasRecord> ModelStore::MoveAlias(AliasMove move) {
  return WaitFor<AliasRecord>(
      [&](Done<AliasRecord> done) { MoveAlias(std::move(move), std::move(done)); });
}

}  // namespace mercer::server
