// Connections that only read. In WAL mode they never wait for the writer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Thread-safe. All loans must be back before it is destroyed.
class ReaderPool {
 public:
  struct GiveBack {
    ReaderPool* pool;
    void operator()(Connection* connection) const;
  };
  // A connection on loan.
  using Loan = std::unique_ptr<Connection, GiveBack>;

  static absl::StatusOr<std::unique_ptr<ReaderPool>> Open(const std::string& path,
                                                          int num_connections);

  // Waits until a connection is free.
  Loan Borrow() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  explicit ReaderPool(std::vector<std::unique_ptr<Connection>> free) : free_(std::move(free)) {}

  bool HasFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !free_.empty(); }

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
