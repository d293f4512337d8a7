#include <array>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/io/store/dataset_file.h"
#include "core/training/model/model.h"
#include "core/training/model/witness.h"
#include "server/backup/backup_format.h"
#include "server/blobs/owned_folder.h"
#include "server/digest/sha256.h"
#include "server/maintenance/checks.h"

namespace mercer::server {
namespace {

// What a row takes a blob for.
struct BlobKind {
  const char* subject;
  const char* action;  // when it is lost
  absl::Status (*open)(const std::string& path, std::string_view bytes);
};

// Their numbers stand in the SQL text.
constexpr std::array<BlobKind, 4> kKinds = {{
    {"data set ",
     "upload the same data again, or put the file back from a backup; --repair marks the data set",
     [](const std::string& path, std::string_view) { return OpenDataset(path).status(); }},
    // Its form is the learner's; one that cannot be read starts again.
    {"checkpoint of job ", "nothing: the job starts again; --repair forgets the checkpoint",
     [](const std::string&, std::string_view) { return absl::OkStatus(); }},
    {"model ", "put the file back from a backup, or train again; --repair marks the version",
     [](const std::string&, std::string_view bytes) { return LoadModel(bytes).status(); }},
    {"witness of model ",
     "the model predicts, but cannot be verified: put the file back from a backup; --repair marks "
     "the version",
     [](const std::string&, std::string_view bytes) { return LoadWitness(bytes).status(); }},
}};

constexpr char kSelectUses[] =
    "SELECT blob, 0, id, size_bytes FROM datasets UNION ALL "
    "SELECT blob, 1, jobs.id, -1 FROM checkpoints JOIN jobs ON jobs.number = job UNION ALL "
    "SELECT model_blob, 2, models.name || '/versions/' || version, model_bytes FROM versions JOIN "
    "models ON models.number = model UNION ALL "
    "SELECT witness_blob, 3, models.name || '/versions/' || version, witness_bytes FROM versions "
    "JOIN models ON models.number = model WHERE witness_blob <> '' ORDER BY 1, 2, 3";

// One row that names a blob.
struct BlobUse {
  std::string digest;
  const BlobKind* kind = nullptr;
  std::string name;
  int64_t bytes = -1;  // as the row says; -1: it does not

  std::string subject() const { return absl::StrCat(kind->subject, name); }
};

class BlobCheck {
 public:
  BlobCheck(std::string folder, FileSystem& files, const FindingSink& sink)
      : folder_(std::move(folder)), files_(files), sink_(sink) {}

  absl::StatusOr<BlobReport> Run(Connection& connection) {
    MERCER_RETURN_IF_ERROR(ListFiles());
    MERCER_RETURN_IF_ERROR(CheckUses(connection));
    for (const std::string& digest : unnamed_) {
      Leftover("BLOB_UNREFERENCED", PathOf(digest), "no row names it");
    }
    return std::move(report_);
  }

 private:
  std::string PathOf(const std::string& digest) const {
    return absl::StrCat(folder_, "/", digest.substr(0, 2), "/", digest);
  }

  void Leftover(const std::string& reason, const std::string& path, const std::string& meaning) {
    sink_({Severity::kNote, reason, absl::StrCat("file ", path), meaning,
           "nothing: a server that starts removes it; so does --repair"});
    report_.leftovers.push_back(path);
  }

  // A file, or the folder of one process with its files.
  void TemporaryFiles(const std::string& path) {
    const absl::StatusOr<std::vector<std::string>> names = files_.List(path);
    if (!names.ok()) {
      Leftover("TEMPORARY_FILE", path, "a write was broken off");
      return;
    }
    for (const std::string& name : *names) {
      Leftover("TEMPORARY_FILE", absl::StrCat(path, "/", name),
               absl::StartsWith(name, kPinPrefix) ? "a process died that was using a blob"
                                                  : "a write was broken off");
    }
  }

  absl::Status ListFiles() {
    MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> entries, files_.List(folder_));
    for (const std::string& entry : entries) {
      const absl::StatusOr<std::vector<std::string>> names =
          files_.List(absl::StrCat(folder_, "/", entry));
      if (!names.ok()) {
        Foreign(entry);
        continue;
      }
      for (const std::string& name : *names) {
        const std::string path = absl::StrCat(entry, "/", name);
        if (entry == "tmp") {
          TemporaryFiles(absl::StrCat(folder_, "/", path));
        } else if (DigestOfBackupBlob(absl::StrCat("blobs/", path)).empty()) {
          Foreign(path);
        } else {
          unnamed_.insert(name);
        }
      }
    }
    return absl::OkStatus();
  }

  void Foreign(const std::string& path) {
    sink_({Severity::kNote, "FILE_UNKNOWN", absl::StrCat("file ", folder_, "/", path),
           "it is none of the server's", "move it elsewhere"});
  }

  // Rows that name the same blob follow each other, so each file is read once.
  absl::Status CheckUses(Connection& connection) {
    std::vector<BlobUse> uses;
    const auto look = [&](const Statement& row) {
      absl::Status checked;
      if (!uses.empty() && row.Bytes(0) != uses.front().digest) {
        checked = CheckBlob(std::exchange(uses, {}));
      }
      uses.push_back({row.Bytes(0), &kKinds.at(static_cast<size_t>(row.Int64(1))), row.Bytes(2),
                      row.Int64(3)});
      return checked;
    };
    MERCER_RETURN_IF_ERROR(connection.ForEachRow(look, kSelectUses));
    return uses.empty() ? absl::OkStatus() : CheckBlob(uses);
  }

  absl::Status CheckBlob(const std::vector<BlobUse>& uses) {
    const std::string& digest = uses.front().digest;
    unnamed_.erase(digest);
    const absl::StatusOr<std::unique_ptr<MappedFile>> file = files_.Map(PathOf(digest));
    if (absl::IsNotFound(file.status())) {
      Lost(uses, "BLOB_MISSING", absl::StrCat("its file ", PathOf(digest), " is not there"));
      return absl::OkStatus();
    }
    MERCER_RETURN_IF_ERROR(file.status());
    const std::string_view bytes = (*file)->contents();
    if (Sha256Hex(bytes) != digest) {
      Lost(uses, "BLOB_DAMAGED",
           absl::StrCat("the content of its file ", PathOf(digest), " has changed"));
      return absl::OkStatus();
    }
    ++report_.num_blobs;
    report_.bytes += static_cast<int64_t>(bytes.size());
    for (const BlobUse& use : uses) {
      CheckUse(use, bytes);
    }
    return absl::OkStatus();
  }

  void CheckUse(const BlobUse& use, std::string_view bytes) {
    if (use.bytes >= 0 && use.bytes != static_cast<int64_t>(bytes.size())) {
      sink_({Severity::kError, "BLOB_SIZE", use.subject(),
             absl::StrCat("its row says ", use.bytes, " bytes, its file has ", bytes.size()),
             "report it"});
    }
    const absl::Status opened = RunSafely(
        "opening a stored file", [&] { return use.kind->open(PathOf(use.digest), bytes); });
    if (!opened.ok()) {
      sink_({Severity::kError, "BLOB_UNREADABLE", use.subject(),
             absl::StrCat("its file is as it was written, but cannot be read: ",
                          std::string(opened.message())),
             "report it"});
    }
  }

  void Lost(const std::vector<BlobUse>& uses, const std::string& reason,
            const std::string& meaning) {
    report_.lost.push_back(uses.front().digest);
    for (const BlobUse& use : uses) {
      sink_({Severity::kError, reason, use.subject(), meaning, use.kind->action});
    }
  }

  const std::string folder_;
  FileSystem& files_;
  const FindingSink& sink_;
  std::set<std::string> unnamed_;  // digests of files that no row has named yet
  BlobReport report_;
};

}  // namespace

absl::StatusOr<BlobReport> CheckBlobs(Connection& connection, const std::string& folder,
                                      FileSystem& files, const FindingSink& sink) {
  return BlobCheck(folder, files, sink).Run(connection);
}

}  // namespace mercer::server
