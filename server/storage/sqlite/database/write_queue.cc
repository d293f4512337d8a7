#include "server/storage/sqlite/database/write_queue.h"

#include <algorithm>

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {

WriteQueue::WriteQueue(Connection* connection, int max_batch)
    : connection_(connection),
      max_batch_(static_cast<size_t>(std::max(1, max_batch))),
      thread_([this] { Run(); }) {}

WriteQueue::~WriteQueue() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void WriteQueue::Submit(Change change, Answer answer) {
  absl::MutexLock lock(&mutex_);
  queue_.push_back({std::move(change), std::move(answer), absl::OkStatus()});
}

void WriteQueue::Run() {
  std::vector<Request> batch;
  batch.reserve(max_batch_);
  while (true) {
    batch.clear();
    TakeBatch(batch);
    if (batch.empty()) {
      return;
    }
    Process(batch);
    for (Request& request : batch) {
      RunNeeded("an answer of the database", [&request] {
        request.answer(std::move(request.status));
      }).IgnoreError();  // it was given; what its receiver made of it is the receiver's business
    }
  }
}

void WriteQueue::TakeBatch(std::vector<Request>& batch) {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &WriteQueue::HasWorkOrStops));
  while (!queue_.empty() && batch.size() < max_batch_) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
}

void WriteQueue::Process(std::vector<Request>& batch) {
  const absl::Status status =
      RunSafely("a transaction of the database", [&] { return RunTransaction(batch); });
  if (status.ok()) {
    return;
  }
  const absl::Status undone = RunSafely("undoing a transaction of the database", [&] {
    return connection_->in_transaction() ? connection_->Execute("ROLLBACK") : absl::OkStatus();
  });
  undone.IgnoreError();  // the next transaction tries again
  for (Request& request : batch) {
    // Also of one that was refused: it may have been refused for what another change of the batch did, and that is
    // undone.
    request.status = status;
  }
}

absl::Status WriteQueue::RunTransaction(std::vector<Request>& batch) {
  if (connection_->in_transaction()) {  // there was no memory to undo it
    MERCER_RETURN_IF_ERROR(connection_->Execute("ROLLBACK"));
  }
  MERCER_RETURN_IF_ERROR(connection_->Execute("BEGIN IMMEDIATE"));
  for (Request& request : batch) {
    MERCER_RETURN_IF_ERROR(RunInSavepoint(request));
  }
  return connection_->Execute("COMMIT");
}

absl::Status WriteQueue::RunInSavepoint(Request& request) {
  MERCER_RETURN_IF_ERROR(connection_->Execute("SAVEPOINT change"));
  request.status =
      RunSafely("a change of the database", [&] { return request.change(*connection_); });
  if (!connection_->in_transaction()) {
    // A full disk or an I/O error makes SQLite undo the whole transaction by itself.
    return request.status.ok() ? absl::InternalError("database: the transaction was lost")
                               : request.status;
  }
  if (!request.status.ok()) {
    MERCER_RETURN_IF_ERROR(connection_->Execute("ROLLBACK TO change"));
  }
  return connection_->Execute("RELEASE change");
}

}  // namespace mercer::server
