#include "server/storage/sqlite/database/reader_pool.h"

#include <utility>

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/status_macros.h"
#include "server/storage/sqlite/database/row_checksums.h"

namespace mercer::server {

void ReaderPool::GiveBack::operator()(Connection* connection) const {
  const ScopedAllocations scope(Allocations::kNeeded);
  absl::MutexLock lock(&pool->mutex_);
  pool->free_.emplace_back(connection);
}

absl::StatusOr<std::unique_ptr<ReaderPool>> ReaderPool::Open(const std::string& path,
                                                             int num_connections) {
  std::vector<std::unique_ptr<Connection>> connections;
  for (int i = 0; i < num_connections; ++i) {
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                            Connection::Open(path, Connection::Mode::kReadOnly));
    MERCER_RETURN_IF_ERROR(AddCheckedViews(*connection));
    connections.push_back(std::move(connection));
  }
  return std::unique_ptr<ReaderPool>(new ReaderPool(std::move(connections)));
}

ReaderPool::Loan ReaderPool::Borrow() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &ReaderPool::HasFree));
  Loan loan(free_.back().release(), GiveBack{this});
  free_.pop_back();
  return loan;
}

}  // namespace mercer::server
