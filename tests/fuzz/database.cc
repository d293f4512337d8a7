// The database file. An input is a list of edits of a good database: a byte of the file, its length, or a value of a row
// that no writer of ours would store. Whatever the storage then reads, it answers with a value or with an error.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include <sqlite3.h>

#include "core/base/status/errors.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "server/translation/dataset_translator.h"
#include "server/translation/job_translator.h"
#include "server/translation/model_translator.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/scratch_folder.h"
#include "tests/fuzz/support/server/answers.h"

namespace mercer::fuzz {
namespace {

using server::Storage;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
// What a page of a list asks for; damaged lists may go on for ever.
constexpr int kMaxPages = 20;

const ScratchFolder& Folder() {
  static const ScratchFolder folder("database");
  return folder;
}

absl::StatusOr<std::unique_ptr<Storage>> Open(bool check) {
  server::SqliteOptions options;
  options.folder = Folder().PathOf("");
  options.num_readers = 1;
  options.check_at_start = check;
  return server::OpenSqliteStorage(options);
}

// Two data sets, a job that has made a model, one that runs and one that waits.
void Fill(Storage& storage) {
  const std::string digest(64, 'a');
  for (const char* id : {"d1", "d2"}) {
    server::DatasetRecord dataset;
    dataset.id = id;
    dataset.blob = digest;
    dataset.rows = 2;
    dataset.info = server::EncodeDatasetInfo({});
    dataset.labels = {{"team", "blue"}};
    dataset.create_time = kNow;
    Require(storage.datasets().CreateDataset(dataset).ok(), "a data set is stored");
  }
  for (const char* id : {"j1", "j2", "j3"}) {
    server::NewJob job;
    job.id = id;
    job.request_id = id;
    job.learner = "svm";
    job.dataset_ids = {"d1"};
    job.model_name = "m";
    job.now = kNow;
    job.event = server::StateEvent(server::JobState::kQueued);
    Require(storage.jobs().CreateJob(job).ok(), "a job is stored");
  }
  server::ClaimRequest claim;
  claim.worker = "w";
  claim.now = kNow;
  claim.lease = absl::Hours(1);
  claim.event = server::StateEvent(server::JobState::kRunning);
  server::AttemptEnd end;
  for (int i = 0; i < 2; ++i) {
    const auto job = storage.jobs().ClaimJob(claim);
    Require(job.ok() && job->has_value(), "a job is claimed");
    end.lease = {(*job)->id, "w", (*job)->epoch};
    Require(storage.jobs().SaveCheckpoint(end.lease, {1, "fuzz", digest, kNow}).ok(),
            "a checkpoint");
    if (i == 0) {
      end.state = server::JobState::kSucceeded;
      end.reason = server::AttemptReason::kSucceeded;
      end.versions = {server::NewVersion{"svm", digest, 1, digest, 1, "", {{"k", "v"}}}};
      end.now = kNow;
      end.events = {server::StateEvent(server::JobState::kSucceeded)};
      Require(storage.jobs().EndAttempt(end).ok(), "a job ends");
    }
  }
}

const std::string& GoodFile() {
  static const auto& file = *[] {
    Folder().Clear();
    {
      auto storage = Open(true);
      Require(storage.ok(), "a database is made");
      Fill(**storage);
    }
    std::ifstream in(Folder().PathOf("mercer.db"), std::ios::binary);
    return new std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }();
  return file;
}

// "table.column" of every column, in the order of the schema.
std::vector<std::pair<std::string, std::string>> Columns(sqlite3* database) {
  std::vector<std::pair<std::string, std::string>> columns;
  sqlite3_stmt* select = nullptr;
  sqlite3_prepare_v2(database,
                     "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
                     "WHERE m.type = 'table' ORDER BY 1, 2",
                     -1, &select, nullptr);
  while (sqlite3_step(select) == SQLITE_ROW) {
    columns.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(select, 0)),
                         reinterpret_cast<const char*>(sqlite3_column_text(select, 1)));
  }
  sqlite3_finalize(select);
  return columns;
}

void SetValue(sqlite3* database, Input& input) {
  const auto columns = Columns(database);
  if (columns.empty()) {
    return;
  }
  const auto& [table, column] = columns[input.Choice(columns.size())];
  sqlite3_stmt* update = nullptr;
  const std::string sql = "UPDATE OR IGNORE " + table + " SET " + column + " = ?";
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &update, nullptr) == SQLITE_OK) {
    const size_t kind = input.Choice(5);
    const uint64_t number = input.Uint64();
    const std::string_view text = input.Bytes(input.Choice(32));
    const int size = static_cast<int>(text.size());
    if (kind == 0) {
      sqlite3_bind_null(update, 1);
    } else if (kind == 1) {
      sqlite3_bind_double(update, 1, static_cast<double>(number));
    } else if (kind == 2) {
      sqlite3_bind_text(update, 1, text.data(), size, SQLITE_TRANSIENT);
    } else if (kind == 3) {
      sqlite3_bind_blob(update, 1, text.data(), size, SQLITE_TRANSIENT);
    } else {
      sqlite3_bind_int64(update, 1, static_cast<int64_t>(number));
    }
    sqlite3_step(update);
  }
  sqlite3_finalize(update);
}

void ChangeRows(const std::string& path, Input& input) {
  sqlite3* database = nullptr;
  if (sqlite3_open(path.c_str(), &database) == SQLITE_OK) {
    for (size_t count = 1 + input.Choice(4); count > 0 && !input.empty(); --count) {
      SetValue(database, input);
    }
  }
  sqlite3_close(database);
}

void WriteDamaged(Input& input) {
  std::string file = GoodFile();
  Folder().Clear();
  const bool rows = input.Byte() % 2 == 0;
  while (!rows && !input.empty()) {
    const size_t position = input.Uint64() % (file.size() + 1);
    const uint8_t value = input.Byte();
    if (position < file.size()) {
      file[position] = static_cast<char>(value);
    } else {
      file.resize(file.size() * value / 256 + 1);
    }
  }
  const std::string path = Folder().Write("mercer.db", file);
  if (rows) {
    ChangeRows(path, input);
  }
}

bool IsAnswer(const absl::Status& status) {
  if (!status.ok()) {
    RequireRefusal(status,
                   {absl::StatusCode::kDataLoss, absl::StatusCode::kInternal,
                    absl::StatusCode::kNotFound, absl::StatusCode::kFailedPrecondition,
                    absl::StatusCode::kAlreadyExists, absl::StatusCode::kAborted,
                    absl::StatusCode::kResourceExhausted, absl::StatusCode::kInvalidArgument},
                   false);
  }
  return status.ok();
}

// Every page of a list.
template <typename List, typename Visit>
void ForEach(const List& list, const Visit& visit) {
  server::PageRequest page;
  page.size = 2;
  for (int i = 0; i < kMaxPages; ++i) {
    const auto items = list(page);
    if (!IsAnswer(items.status())) {
      return;
    }
    for (const auto& item : items->items) {
      visit(item);
    }
    page.token = items->next_token;
    if (page.token.empty()) {
      return;
    }
  }
}

void ReadJobs(Storage& storage) {
  ForEach([&](const server::PageRequest& page) { return storage.jobs().ListJobs({}, page); },
          [&](const server::JobRecord& listed) {
            const auto job = storage.jobs().GetJob(listed.id);
            const auto attempts = storage.jobs().ListAttempts(listed.id);
            IsAnswer(storage.jobs().GetCheckpoint(listed.id).status());
            const auto events = storage.events().Read(listed.id, 0, 10);
            if (IsAnswer(events.status())) {
              for (const server::EventRecord& record : *events) {
                const auto event = server::DecodeJobEvent(record);
                if (IsAnswer(event.status())) {
                  server::WriteEvent(*event);
                }
              }
            }
            if (IsAnswer(job.status()) && IsAnswer(attempts.status())) {
              IsAnswer(server::WriteJob(*job, *attempts).status());
            }
          });
}

void ReadAll(Storage& storage) {
  ForEach([&](const server::PageRequest& page) { return storage.datasets().ListDatasets(page); },
          [&](const server::DatasetRecord& dataset) {
            IsAnswer(server::WriteDataset(dataset, v1::DATASET_VIEW_FULL).status());
            IsAnswer(storage.datasets().GetDataset(dataset.id).status());
          });
  ReadJobs(storage);
  ForEach([&](const server::PageRequest& page) { return storage.models().ListModels(page); },
          [&](const server::ModelRecord& model) {
            if (const auto newest = storage.models().GetVersion(model.name, 0); newest.ok()) {
              IsAnswer(server::WriteModel(model, *newest).status());
            }
            ForEach(
                [&](const server::PageRequest& page) {
                  return storage.models().ListVersions(model.name, page);
                },
                [&](const server::VersionRecord& version) {
                  IsAnswer(server::WriteVersion(version).status());
                  IsAnswer(storage.models().GetVersion(model.name, version.version).status());
                });
            IsAnswer(storage.models().GetVersion(model.name, 0).status());
          });
  IsAnswer(storage.ReferencedBlobs().status());
  IsAnswer(storage.IsBlobReferenced(std::string(64, 'a')).status());
  IsAnswer(storage.jobs().CountJobs().status());
}

void ChangeAll(Storage& storage) {
  server::ClaimRequest claim;
  claim.worker = "w2";
  claim.now = kNow;
  claim.event = server::StateEvent(server::JobState::kRunning);
  const auto claimed = storage.jobs().ClaimJob(claim);
  if (IsAnswer(claimed.status()) && claimed->has_value()) {
    server::AttemptEnd end;
    end.lease = {(*claimed)->id, "w2", (*claimed)->epoch};
    end.state = server::JobState::kFailed;
    end.reason = server::AttemptReason::kFailed;
    end.error = server::StoredError{3, "bad", ""};
    end.now = kNow;
    end.events = {server::StateEvent(server::JobState::kFailed)};
    IsAnswer(storage.jobs().EndAttempt(end).status());
  }
  server::CancelRequest cancel;
  cancel.job_id = "j2";
  cancel.now = kNow;
  cancel.cancelling = server::StateEvent(server::JobState::kCancelling);
  cancel.cancelled = server::StateEvent(server::JobState::kCancelled);
  IsAnswer(storage.jobs().CancelJob(cancel).status());
  IsAnswer(storage.models().DeleteModel("m", 0, kNow).status());
  IsAnswer(storage.datasets().DeleteDataset("d2").status());
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  SilenceProtobuf();
  Input input(bytes);
  const bool check = input.Byte() % 2 == 0;
  WriteDamaged(input);
  const auto storage = Open(check);
  if (IsAnswer(storage.status())) {
    ReadAll(**storage);
    ChangeAll(**storage);
    ReadAll(**storage);
  }
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (int column = 0; column < 100; column += 7) {
    std::string seed(2, '\0');
    seed += '\1';
    for (const int kind : {4, 0}) {
      seed += static_cast<char>(column + kind);
      seed += static_cast<char>(kind);
      seed.append(8, '\x7f');
      seed += '\0';
    }
    seeds.push_back(seed);
  }
  seeds.push_back(std::string("\0\1\x64\0\0\0\0\0\0\0\xff", 11));
  seeds.push_back(std::string("\1\1\x20\x10\0\0\0\0\0\0\x05", 11));
  return seeds;
}

}  // namespace mercer::fuzz
