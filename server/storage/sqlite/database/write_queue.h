// The one thread that writes. Changes queue; each runs in a savepoint; up to `max_batch` of them
// share a commit, because a commit waits for the disk and a change hardly costs anything. Answers
// follow the commit.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "server/storage/completion.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Thread-safe. The destructor runs what was submitted, then joins.
class WriteQueue {
 public:
  using Change = absl::AnyInvocable<absl::Status(Connection&)>;
  using Answer = absl::AnyInvocable<void(absl::Status)>;

  // `connection` must outlive the queue and is used by its thread alone from now on.
  WriteQueue(Connection* connection, int max_batch);
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  // `change` runs at most once. When it fails it is undone alone, and `answer` gets its status;
  // when the commit or the whole transaction fails, every change of the batch is undone and gets
  // that status.
  void Submit(Change change, Answer answer) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Request {
    Change change;
    Answer answer;
    absl::Status status;
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Moves the next requests, at most max_batch_, into the empty `batch`, which has room for them;
  // none when the queue stops.
  void TakeBatch(std::vector<Request>& batch) ABSL_LOCKS_EXCLUDED(mutex_);
  void Process(std::vector<Request>& batch);
  // Runs and commits all changes; an error means that the transaction itself broke.
  absl::Status RunTransaction(std::vector<Request>& batch);
  absl::Status RunInSavepoint(Request& request);
  bool HasWorkOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !queue_.empty();
  }

  Connection* const connection_;
  const size_t max_batch_;
  absl::Mutex mutex_;
  std::deque<Request> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Submits a change that has a result: change(connection, arguments...).
template <typename T, typename Function, typename... Arguments>
void SubmitChange(WriteQueue& queue, Done<T> done, Function change, Arguments... arguments) {
  auto result = std::make_shared<std::optional<T>>();
  queue.Submit(
      [result, change, ... arguments = std::move(arguments)](Connection& connection) {
        absl::StatusOr<T> value = change(connection, arguments...);
        if (value.ok()) {
          result->emplace(*std::move(value));
        }
        return value.status();
      },
      [result, done = std::move(done)](absl::Status status) mutable {
        if (status.ok()) {
          done(std::move(**result));
        } else {
          done(std::move(status));
        }
      });
}

}  // namespace mercer::server
