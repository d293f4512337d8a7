#include "server/storage/sqlite/write_queue.h"

#include <algorithm>

#include "core/base/status_macros.h"

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
  while (true) {
    std::vector<Request> batch = TakeBatch();
    if (batch.empty()) {
      return;
    }
    Process(batch);
    for (Request& request : batch) {
      request.answer(std::move(request.status));
    }
  }
}

std::vector<WriteQueue::Request> WriteQueue::TakeBatch() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &WriteQueue::HasWorkOrStops));
  std::vector<Request> batch;
  while (!queue_.empty() && batch.size() < max_batch_) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

void WriteQueue::Process(std::vector<Request>& batch) {
  absl::Status status = connection_->Execute("BEGIN IMMEDIATE");
  if (status.ok()) {
    status = RunChanges(batch);
  }
  if (status.ok()) {
    status = connection_->Execute("COMMIT");
  }
  if (status.ok()) {
    return;
  }
  if (connection_->in_transaction()) {
    // Nothing can be done when even this fails; the next BEGIN will say so.
    connection_->Execute("ROLLBACK").IgnoreError();
  }
  for (Request& request : batch) {
    request.status.Update(
        status);  // a change that was refused for its own sake keeps its own status
  }
}

absl::Status WriteQueue::RunChanges(std::vector<Request>& batch) {
  for (Request& request : batch) {
    MERCER_RETURN_IF_ERROR(RunInSavepoint(request));
  }
  return absl::OkStatus();
}

absl::Status WriteQueue::RunInSavepoint(Request& request) {
  MERCER_RETURN_IF_ERROR(connection_->Execute("SAVEPOINT change"));
  request.status = request.change(*connection_);
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
