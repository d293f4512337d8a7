// Storage in one SQLite file. docs/formats/database.md describes its tables.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "server/storage/storage.h"

namespace mercer::server {

using StorageClock = std::function<absl::Time()>;

struct SqliteOptions {
  std::string folder;          // the data folder: holds mercer.db and the lock; made when missing
  int num_readers = 4;         // connections that answer reads, >= 1
  int max_batch = 256;         // changes that share one commit, >= 1
  bool check_at_start = true;  // PRAGMA quick_check: reads the whole file
  StorageClock clock = absl::Now;  // that leases and delays run by
};

// Opens the database, migrates it to the current schema and holds the folder's lock until the
// storage is destroyed. All leases that it finds are of the dead, and end now. Errors: kFailedPrecondition (reasons DATA_FOLDER_LOCKED: another server
// uses the folder; NEWER_SCHEMA: written by a newer version; STORAGE_READ_ONLY: the folder cannot
// be written), kDataLoss (reason DATABASE_DAMAGED), kInternal.
absl::StatusOr<std::unique_ptr<Storage>> OpenSqliteStorage(const SqliteOptions& options);

}  // namespace mercer::server
