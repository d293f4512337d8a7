#include "server/storage/sqlite/database/row_checksums.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "core/base/numeric/random.h"
#include "tests/server/storage/storage_conformance.h"
#include "tests/support/sanitized.h"
#include "tests/support/thorough.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// An SQLite storage with a row in every table.
class RowChecksumsTest : public StorageConformance {
 protected:
  void Fill() {
    AddDataset("data");
    EXPECT_EQ(TrainVersion("j1", "model", "b1"), 1);
    EXPECT_EQ(TrainVersion("j2", "model", "b2"), 2);
    AliasMove move;
    move.model = "model";
    move.alias = "best";
    move.version = 1;
    move.now = At(40);
    ASSERT_TRUE(storage_->models().MoveAlias(move).ok());
    VersionUpdate update;
    update.model = "model";
    update.version = 1;
    update.labels = Labels{{"stage", "production"}};
    update.description = "good";
    update.now = At(41);
    ASSERT_TRUE(storage_->models().UpdateVersion(update).ok());
    ModelUpdate of_model;
    of_model.model = update.model;
    of_model.labels = Labels{{"team", "blue"}};
    of_model.display_name = "the model";
    of_model.now = update.now;
    ASSERT_TRUE(storage_->models().UpdateModel(of_model).ok());
    AddJob("j3");
    const std::optional<JobRecord> job = Claim("w");
    ASSERT_TRUE(job.has_value());
    ASSERT_TRUE(
        storage_->jobs().SaveCheckpoint(LeaseOf(*job), {1, "v1", "checkpoint", At(21)}).ok());
    ASSERT_TRUE(storage_->events().Append(LeaseOf(*job), {{1, "step"}}, At(22)).ok());
  }
  std::string path() const { return folder_ + "/mercer.db"; }
  void Close() { storage_.reset(); }
  absl::Status Reopen() {
    absl::StatusOr<std::unique_ptr<Storage>> storage = Open(folder_);
    if (storage.ok()) {
      storage_ = *std::move(storage);
    }
    return storage.status();
  }
  // By a connection without triggers.
  void ExecuteRaw(const std::string& sql) {
    const auto connection = Connection::Open(path(), Connection::Mode::kReadWrite);
    ASSERT_TRUE(connection.ok()) << connection.status();
    const absl::Status done = (*connection)->Execute(sql);
    EXPECT_TRUE(done.ok()) << sql << ": " << done;
    (*connection)->CheckpointOnClose(true);
  }
  std::vector<std::string> DamagedRows() {
    const auto connection = Connection::Open(path(), Connection::Mode::kReadOnly);
    EXPECT_TRUE(connection.ok()) << connection.status();
    std::vector<std::string> rows;
    const absl::Status found =
        FindDamagedRows(**connection, [&](const std::string& table, const std::string& row) {
          rows.push_back(absl::StrCat(table, " ", row));
        });
    EXPECT_TRUE(found.ok()) << found;
    return rows;
  }
  // Everything that the storage serves; an error as its text.
  std::vector<std::string> Answers() {
    std::vector<std::string> answers;
    const auto add = [&](const auto& answer, const auto& text) {
      answers.push_back(answer.ok() ? text(*answer)
                                    : absl::StrCat("error ", answer.status().ToString()));
    };
    const auto labels = [](const Labels& all) {
      std::string text;
      for (const auto& [key, value] : all) {
        absl::StrAppend(&text, key, "=", value, ";");
      }
      return text;
    };
    add(storage_->datasets().GetDataset("data"), [&](const DatasetRecord& record) {
      return absl::StrCat(record.id, record.display_name, record.blob, record.size_bytes, " ",
                          record.rows, record.info, labels(record.labels),
                          absl::ToUnixMicros(record.create_time), record.hidden);
    });
    for (const char* const id : {"j1", "j2", "j3"}) {
      add(storage_->jobs().GetJob(id), [&](const JobRecord& job) {
        return absl::StrCat(
            absl::StrCat(job.id, " ", static_cast<int>(job.state), " ", job.priority, " ",
                         job.attempt, " ", job.epoch, job.lease_worker, job.request, job.learner),
            absl::StrCat(job.dataset_ids.empty() ? "none" : job.dataset_ids[0], labels(job.labels),
                         job.model_name, job.model_version, " ", job.memory_bytes, job.caller,
                         job.trace_id, job.stop_requested),
            absl::ToUnixMicros(job.create_time), " ", absl::ToUnixMicros(job.start_time), " ",
            absl::ToUnixMicros(job.end_time),
            job.last_event.has_value() ? job.last_event->payload : "");
      });
      add(storage_->events().Read(id, 0, 100), [](const std::vector<EventRecord>& events) {
        std::string text;
        for (const EventRecord& event : events) {
          absl::StrAppend(&text, event.sequence, " ", event.attempt, " ", event.iteration, " ",
                          absl::ToUnixMicros(event.time), event.payload, ";");
        }
        return text;
      });
      add(storage_->jobs().ListAttempts(id), [](const std::vector<AttemptRecord>& attempts) {
        std::string text;
        for (const AttemptRecord& attempt : attempts) {
          absl::StrAppend(&text, attempt.attempt, attempt.host, attempt.worker,
                          static_cast<int>(attempt.reason), ";");
        }
        return text;
      });
      add(storage_->jobs().GetCheckpoint(id), [](const std::optional<CheckpointRecord>& found) {
        return found.has_value() ? absl::StrCat(found->attempt, " ", found->iteration,
                                                found->code_version, found->blob)
                                 : std::string("none");
      });
    }
    add(storage_->models().GetModel("model"), [&](const ModelRecord& model) {
      return absl::StrCat(model.name, model.newest_version, " ", model.num_versions, " ",
                          model.keep_newest, labels(model.labels), model.description,
                          model.display_name, ModelEtag(model), model.aliases.size(),
                          absl::ToUnixMicros(model.create_time));
    });
    for (const int64_t version : {1, 2}) {
      add(storage_->models().GetVersion("model", version), [&](const VersionRecord& record) {
        return absl::StrCat(
            absl::StrCat(record.model, record.version, record.job_id, record.learner,
                         record.model_blob, record.model_bytes, record.witness_blob),
            absl::StrCat(record.witness_bytes, record.summary, labels(record.labels),
                         record.description, record.revision, record.aliases.size()));
      });
    }
    add(storage_->models().GetAlias("model", "best"), [](const AliasRecord& alias) {
      return absl::StrCat(alias.alias, alias.version, alias.etag);
    });
    add(storage_->models().ListAliasChanges("model", "best", {}),
        [](const Page<AliasChange>& page) {
          std::string text;
          for (const AliasChange& change : page.items) {
            absl::StrAppend(&text, change.sequence, change.caller, change.from, change.to, ";");
          }
          return text;
        });
    return answers;
  }
};

TEST_F(RowChecksumsTest, EveryTableOfDataHasThemWhoeverWroteTheRow) {
  Fill();
  Close();
  EXPECT_THAT(DamagedRows(), IsEmpty());
  const auto connection = Connection::Open(path(), Connection::Mode::kReadOnly);
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_THAT(
      *ChecksummedTables(**connection),
      ElementsAre("alias_changes", "aliases", "attempts", "checkpoints", "dataset_labels",
                  "datasets", "events", "job_datasets", "job_labels", "job_requests", "jobs",
                  "model_labels", "models", "version_datasets", "version_labels", "versions"));
  // What is not there: the schema's own version, and whose turn it is, which may be wrong without harm.
  auto others = (*connection)
                    ->Prepare(
                        "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema "
                        "WHERE type = 'table' AND sql NOT LIKE '%checksum%' ORDER BY 1)");
  ASSERT_TRUE(others.ok() && *others->Step());
  EXPECT_EQ(others->Bytes(0), "queue_turns schema_versions sqlite_sequence");
}

// One column after the other: nothing is outside of the checksum, and the row is named.
TEST_F(RowChecksumsTest, AChangeOfAnyColumnIsFound) {
  Fill();
  Close();
  std::vector<std::pair<std::string, std::string>> columns;
  {
    const auto connection = Connection::Open(path(), Connection::Mode::kReadOnly);
    auto select = (*connection)
                      ->Prepare(
                          "SELECT m.name, c.name FROM sqlite_schema AS m, "
                          "pragma_table_info(m.name) AS c WHERE m.sql LIKE '%checksum%' AND "
                          "m.type = 'table' AND c.name NOT IN (SELECT p.name FROM "
                          "pragma_table_info(m.name) AS p WHERE p.pk > 0)");
    ASSERT_TRUE(select.ok()) << select.status();
    while (*select->Step()) {
      columns.emplace_back(select->Bytes(0), select->Bytes(1));
    }
  }
  ASSERT_GT(columns.size(), 60U);
  for (const auto& [table, column] : columns) {
    SCOPED_TRACE(absl::StrCat(table, ".", column));
    const std::string copy = path() + ".copy";
    std::filesystem::copy_file(path(), copy, std::filesystem::copy_options::overwrite_existing);
    ExecuteRaw(absl::StrCat("PRAGMA foreign_keys = OFF; UPDATE ", table, " SET ", column,
                            " = CASE typeof(", column, ") WHEN 'integer' THEN ", column,
                            " + 1000 WHEN 'null' THEN hex(randomblob(8)) ELSE ", column,
                            " || 'x' END"));
    const std::vector<std::string> rows = DamagedRows();
    ASSERT_FALSE(rows.empty());
    EXPECT_THAT(rows[0], StartsWith(absl::StrCat(table, " ")));
    std::filesystem::copy_file(copy, path(), std::filesystem::copy_options::overwrite_existing);
  }
}

TEST_F(RowChecksumsTest, ADamagedRowIsNeitherServedNorWrittenOver) {
  Fill();
  ExecuteRaw("UPDATE events SET iteration = 1000 WHERE job = 3 AND sequence = 1");
  const absl::Status events = storage_->events().Read("j3", 0, 100).status();
  EXPECT_EQ(events.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(GetReason(events), "DATABASE_DAMAGED");
  EXPECT_THAT(std::string(events.message()), HasSubstr("events"));
  EXPECT_THAT(std::string(events.message()), HasSubstr("job=3 sequence=1"));
  EXPECT_TRUE(storage_->events().Read("j3", 1, 100).ok()) << "the others are served";

  ExecuteRaw("UPDATE jobs SET memory_bytes = 1 WHERE number = 3");
  EXPECT_EQ(GetReason(storage_->jobs().GetJob("j3").status()), "DATABASE_DAMAGED");
  EXPECT_TRUE(storage_->jobs().GetJob("j2").ok());
  // A change of another column must not make it right.
  const absl::Status appended =
      storage_->events().Append({"j3", "w", 1}, {{2, "step"}}, At(23)).status();
  EXPECT_EQ(GetReason(appended), "DATABASE_DAMAGED") << appended;
  EXPECT_EQ(GetReason(storage_->jobs().GetJob("j3").status()), "DATABASE_DAMAGED");
}

// Bits of the whole file: rows, indexes, the schema, free pages. An answer is right, or it is an error.
TEST_F(RowChecksumsTest, AFlippedBitGivesNoWrongAnswer) {
  Fill();
  const std::vector<std::string> right = Answers();
  Close();
  std::string content;
  {
    std::ifstream file(path(), std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(file), {});
  }
  ASSERT_GT(content.size(), 10'000U);
  RandomStream random(11, "flips");
  const int flips = IsThorough() ? 400 : kSanitized ? 80 : 150;
  int harmless = 0;
  for (int flip = 0; flip < flips; ++flip) {
    const auto bit =
        static_cast<size_t>(random.Uniform() * 8 * static_cast<double>(content.size()));
    SCOPED_TRACE(absl::StrCat("bit ", bit));
    std::string damaged = content;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    std::ofstream(path(), std::ios::binary) << damaged;
    std::filesystem::remove(path() + "-wal");
    std::filesystem::remove(path() + "-shm");
    if (Reopen().ok()) {
      const std::vector<std::string> answers = Answers();
      ASSERT_EQ(answers.size(), right.size());
      harmless += answers == right ? 1 : 0;
      for (size_t i = 0; i < right.size(); ++i) {
        EXPECT_TRUE(answers[i] == right[i] || answers[i].starts_with("error "))
            << answers[i] << "\ninstead of\n"
            << right[i];
      }
      Close();
    }
  }
  EXPECT_LT(harmless, flips);
}

}  // namespace
}  // namespace mercer::server
