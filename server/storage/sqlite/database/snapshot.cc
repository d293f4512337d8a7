#include "server/storage/sqlite/database/snapshot.h"

#include <memory>

#include "absl/cleanup/cleanup.h"

#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// Steps of the machine of SQLite between two questions: a thousand rows or so, a millisecond.
constexpr int kStepsPerQuestion = 5'000;

}  // namespace

absl::StatusOr<std::vector<BlobDigest>> ReadReferencedBlobs(Connection& connection) {
  return connection.SelectAll<BlobDigest>(
      "SELECT blob FROM datasets UNION SELECT blob FROM checkpoints UNION SELECT model_blob FROM "
      "versions UNION SELECT witness_blob FROM versions WHERE witness_blob <> '' ORDER BY 1");
}

absl::StatusOr<bool> IsReferenced(Connection& connection, const BlobDigest& blob) {
  return connection.SelectValue<bool>(
      "SELECT EXISTS (SELECT 1 FROM datasets WHERE blob = ?1) OR EXISTS (SELECT 1 FROM checkpoints "
      "WHERE blob = ?1) OR EXISTS (SELECT 1 FROM versions WHERE model_blob = ?1) OR EXISTS (SELECT "
      "1 FROM versions WHERE witness_blob = ?1)",
      blob);
}

absl::StatusOr<std::vector<BlobDigest>> CopyDatabase(Connection& source, const std::string& path,
                                                     const std::function<bool()>& is_cancelled) {
  sqlite3_progress_handler(
      source.handle(), kStepsPerQuestion,
      [](void* question) {
        return (*static_cast<const std::function<bool()>*>(question))() ? 1 : 0;
      },
      const_cast<std::function<bool()>*>(&is_cancelled));
  const absl::Cleanup ask_no_more = [&source] {
    sqlite3_progress_handler(source.handle(), 0, nullptr, nullptr);
  };
  // One read transaction, so one moment; in WAL mode it keeps no writer waiting. The copy is compact.
  MERCER_RETURN_IF_ERROR(source.Run("VACUUM INTO ?", path));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> made,
                          Connection::Open(path, Connection::Mode::kImmutable));
  return ReadReferencedBlobs(*made);
}

}  // namespace mercer::server
