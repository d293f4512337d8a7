#include "server/storage/sqlite/database/snapshot.h"

#include <memory>

#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// Steps of the machine of SQLite between two questions: a thousand rows or so, a millisecond.
constexpr int kStepsPerQuestion = 5'000;

// Interrupts what the connection does when `is_cancelled` says so, as long as it lives.
class ScopedCancellation {
 public:
  ScopedCancellation(Connection& connection, const std::function<bool()>* is_cancelled)
      : connection_(connection) {
    sqlite3_progress_handler(
        connection.handle(), kStepsPerQuestion,
        [](void* question) {
          return (*static_cast<const std::function<bool()>*>(question))() ? 1 : 0;
        },
        const_cast<std::function<bool()>*>(is_cancelled));
  }
  ~ScopedCancellation() { sqlite3_progress_handler(connection_.handle(), 0, nullptr, nullptr); }
  ScopedCancellation(const ScopedCancellation&) = delete;
  ScopedCancellation& operator=(const ScopedCancellation&) = delete;

 private:
  Connection& connection_;
};

}  // namespace

absl::StatusOr<std::vector<BlobDigest>> ReadReferencedBlobs(Connection& connection) {
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          connection.Prepare("SELECT blob FROM datasets UNION SELECT blob FROM "
                                             "checkpoints UNION SELECT model_blob FROM "
                                             "versions UNION SELECT witness_blob FROM versions "
                                             "WHERE witness_blob <> '' ORDER BY 1"));
  std::vector<BlobDigest> blobs;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return blobs;
    }
    blobs.push_back(select.Bytes(0));
  }
}

absl::StatusOr<std::vector<BlobDigest>> CopyDatabase(Connection& source, const std::string& path,
                                                     const std::function<bool()>& is_cancelled) {
  {
    const ScopedCancellation cancellation(source, &is_cancelled);
    // One read transaction, so one moment; in WAL mode it keeps no writer waiting. The copy is compact.
    MERCER_ASSIGN_OR_RETURN(Statement copy, source.Prepare("VACUUM INTO ?"));
    MERCER_RETURN_IF_ERROR(copy.Bind(path).Run());
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> made,
                          Connection::Open(path, Connection::Mode::kImmutable));
  return ReadReferencedBlobs(*made);
}

}  // namespace mercer::server
