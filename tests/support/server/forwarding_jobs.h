// A store that passes on all calls, for those that do something of their own in a few: these override what they do.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/forwarding_storage.h"

namespace mercer::server {

class ForwardingJobStore : public ForwardingJobReader {
 public:
  using ForwardingJobReader::ForwardingJobReader;

  void CreateJob(NewJob job, Done<CreatedJob> done) override {
    jobs_->CreateJob(std::move(job), std::move(done));
  }
  void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) override {
    jobs_->ClaimJob(std::move(request), std::move(done));
  }
  void RenewLease(Lease lease, absl::Duration duration, Done<RenewedLease> done) override {
    jobs_->RenewLease(std::move(lease), duration, std::move(done));
  }
  void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                      Done<EventRecord> done) override {
    jobs_->BeginVerifying(std::move(lease), std::move(event), now, std::move(done));
  }
  void SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                      Done<std::optional<BlobDigest>> done) override {
    jobs_->SaveCheckpoint(std::move(lease), std::move(checkpoint), std::move(done));
  }
  void EndAttempt(AttemptEnd end, Done<EndedAttempt> done) override {
    jobs_->EndAttempt(std::move(end), std::move(done));
  }
  void TakeOver(Lease lease, absl::Time now, OrphanJudge judge, Done<EndedAttempt> done) override {
    jobs_->TakeOver(std::move(lease), now, std::move(judge), std::move(done));
  }
  void CancelJob(CancelRequest request, Done<EndedAttempt> done) override {
    jobs_->CancelJob(std::move(request), std::move(done));
  }
  void StopJob(StopRequest request, Done<EndedAttempt> done) override {
    jobs_->StopJob(std::move(request), std::move(done));
  }
  void DeleteFinishedJobs(FinishedJobs which, Done<DeletedJobs> done) override {
    jobs_->DeleteFinishedJobs(which, std::move(done));
  }
  void UpdateJob(JobUpdate update, Done<JobRecord> done) override {
    jobs_->UpdateJob(std::move(update), std::move(done));
  }
  void DeleteJob(std::string id, OwnerCheck check, Done<DeletedJob> done) override {
    jobs_->DeleteJob(std::move(id), std::move(check), std::move(done));
  }

  using JobStore::BeginVerifying;
  using JobStore::CancelJob;
  using JobStore::ClaimJob;
  using JobStore::CreateJob;
  using JobStore::DeleteFinishedJobs;
  using JobStore::DeleteJob;
  using JobStore::EndAttempt;
  using JobStore::RenewLease;
  using JobStore::SaveCheckpoint;
  using JobStore::StopJob;
  using JobStore::TakeOver;
  using JobStore::UpdateJob;
};

}  // namespace mercer::server
