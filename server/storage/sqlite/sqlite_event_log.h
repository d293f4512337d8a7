// EventLog in SQLite.
#pragma once

#include <string>
#include <vector>

#include "server/storage/event_log.h"
#include "server/storage/sqlite/database/reader_pool.h"
#include "server/storage/sqlite/database/write_queue.h"

namespace mercer::server {

class SqliteEventLog final : public EventLog {
 public:
  // Both must outlive the log.
  SqliteEventLog(WriteQueue* writer, ReaderPool* readers) : writer_(writer), readers_(readers) {}

  void Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
              Done<std::vector<EventRecord>> done) override;
  absl::StatusOr<std::vector<EventRecord>> Read(const std::string& job_id, int64_t after_sequence,
                                                int limit) override;

 private:
  WriteQueue* const writer_;
  ReaderPool* const readers_;
};

}  // namespace mercer::server
