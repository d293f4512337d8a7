// What the stores hold, as plain values. Payloads are bytes that the stores never look into.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace mercer::server {

using Labels = std::map<std::string, std::string>;

// Names a blob: 64 lower-case hexadecimal digits of the SHA-256 of its content.
using BlobDigest = std::string;

// What a job does. The numbers are stored: never change or reuse one.
enum class JobKind : uint8_t {
  kTraining = 1,      // makes versions of a model
  kPrediction = 2,    // of a whole data set, into a new one
  kEvaluation = 3,    // metrics of a model on a data set
  kVerification = 4,  // recomputes the certificate of a model
};

// The numbers are stored: never change or reuse one.
enum class JobState : uint8_t {
  kQueued = 1,
  kRunning = 2,
  kCancelling = 3,  // cancellation was asked for; the worker has not ended yet
  kVerifying = 4,   // trained; the certificate is being recomputed
  kSucceeded = 5,   // final, as the two that follow
  kFailed = 6,
  kCancelled = 7,
};

constexpr bool IsFinal(JobState state) { return state >= JobState::kSucceeded; }
// "QUEUED", "RUNNING", ...
std::string_view JobStateName(JobState state);

// Why an attempt ended. The numbers are stored.
enum class AttemptReason : uint8_t {
  kRunning = 0,  // it has not ended
  kSucceeded = 1,
  kFailed = 2,
  kCancelled = 3,
  kDrained = 4,        // the server shut down in order; the job went back to the queue
  kWorkerLost = 5,     // the process was killed, or the worker lost its lease
  kCrashed = 6,        // it took the process down
  kServerCrashed = 7,  // an attempt at another job took the process down
  kRetry = 8,          // disk or storage failed it; the job went back to the queue
};

// "RUNNING", "SUCCEEDED", ..., "DRAINED", "WORKER_LOST", "CRASHED", "SERVER_CRASHED", "RETRY"
std::string_view AttemptReasonName(AttemptReason reason);

// A status with its details, encoded by whoever writes it.
struct StoredError {
  int code = 0;  // absl::StatusCode
  std::string message;
  std::string details;

  friend bool operator==(const StoredError&, const StoredError&) = default;
};

struct DatasetRecord {
  std::string id;  // unique; [a-z0-9-]
  std::string display_name;
  BlobDigest blob;
  int64_t size_bytes = 0;  // of the blob
  int64_t rows = 0;
  std::string info;  // schema and statistics
  Labels labels;
  absl::Time create_time;
  std::string owner;  // who has uploaded it; empty: nobody in particular
  // What names the upload that has made it: of the data sets that are not hidden one alone has each. Empty: none.
  std::string request_key = {};
  std::string upload_key = {};
  bool hidden =
      false;  // to be deleted when no job needs it any more; until then nothing new may use it
  int64_t revision = 1;  // counts changes of labels and display_name
  int64_t number = 0;    // of its row, when it was read; here and below
};

// "{create_time}-{revision}": changes with labels and display_name, and differs from that of an earlier data set of this id.
std::string DatasetEtag(const DatasetRecord& dataset);

// An event as given to a store; the store adds sequence and attempt.
struct EventDraft {
  int64_t iteration = 0;
  std::string payload;
  std::optional<absl::Time> time = std::nullopt;  // absent: that of the change that writes it
};

struct EventRecord {
  int64_t sequence = 0;  // 1, 2, 3, ... without gaps within a job
  int32_t attempt = 0;   // the attempt that wrote it; 0 before the first
  int64_t iteration = 0;
  absl::Time time;
  std::string payload;

  friend bool operator==(const EventRecord&, const EventRecord&) = default;
};

struct JobRecord {
  std::string id;
  JobKind kind = JobKind::kTraining;
  int64_t number = 0;  // order of creation
  JobState state = JobState::kQueued;
  std::string display_name;  // as the request says, until it is changed
  int32_t priority = 0;      // larger runs first
  int32_t attempt = 0;       // attempts begun so far
  int64_t epoch = 0;  // counts claims; with lease_worker it fences out a worker that lost its lease
  std::string lease_worker;  // empty unless a worker holds the job
  absl::Time lease_until = absl::InfinitePast();
  std::string request;     // the request, as it was accepted
  std::string request_id;  // empty: none was given
  std::string result;      // of an attempt that succeeded, for kinds that leave one
  std::string learner;
  std::vector<std::string> dataset_ids;  // in the order of the request
  Labels labels;
  std::string model_name;       // trainings: of the model that they make; else empty
  int64_t model_version = 0;    // of model_name; 0 until the job succeeded
  int64_t memory_bytes = 0;     // upper bound of what the run will need
  std::string caller;           // who has submitted it and owns it; empty: nobody in particular
  std::string trace_id;         // of the call that has; empty: none
  bool stop_requested = false;  // the job is to end now, with the best model so far
  // QUEUED: no worker takes the job before. InfinitePast: it may be taken at once.
  absl::Time not_before = absl::InfinitePast();
  // FAILED, CANCELLED with a reason, and QUEUED with not_before: why the last attempt ended.
  std::optional<StoredError> error;
  absl::Time create_time;
  absl::Time start_time = absl::InfinitePast();  // of the first attempt; InfinitePast: not started
  absl::Time end_time = absl::InfinitePast();    // InfinitePast: not final
  std::optional<EventRecord> last_event;
  int64_t revision = 1;  // counts changes of labels and display_name
};

// "{revision}": changes with labels and display_name.
std::string JobEtag(const JobRecord& job);

struct AttemptRecord {
  int32_t attempt = 0;
  std::string host;
  std::string worker;
  absl::Time start_time;
  absl::Time end_time = absl::InfinitePast();  // InfinitePast: running
  AttemptReason reason = AttemptReason::kRunning;
};

// What a worker shows to prove that the job is still its own.
struct Lease {
  std::string job_id;
  std::string worker;
  int64_t epoch = 0;

  friend bool operator==(const Lease&, const Lease&) = default;
};

struct CheckpointRecord {
  int32_t attempt = 0;
  int64_t iteration = 0;
  std::string code_version;
  BlobDigest blob;
  absl::Time create_time;
};

// A movable name of a version.
struct AliasRecord {
  std::string model;
  std::string alias;
  int64_t version = 0;  // 0: there is no such alias (any more)
  std::string etag;     // kNoAliasEtag when there is none
  absl::Time update_time;

  friend bool operator==(const AliasRecord&, const AliasRecord&) = default;
};
inline constexpr std::string_view kNoAliasEtag = "none";

struct ModelRecord {
  std::string name;
  std::string display_name;
  int64_t newest_version = 0;  // the largest version number that is not deleted
  int64_t num_versions = 0;    // that are not deleted
  int64_t keep_newest = 0;     // older versions without alias are deleted; 0: none
  Labels labels;
  std::string description;
  std::string owner;  // whose job made it, when it had no versions; empty: nobody in particular
  absl::Time create_time;
  absl::Time update_time;            // of the newest change
  int64_t revision = 1;              // counts changes of labels, display_name and description
  std::vector<AliasRecord> aliases;  // by name
  int64_t number = 0;
};

// "{revision}": changes with labels, display_name and description, and never comes back.
std::string ModelEtag(const ModelRecord& model);

struct VersionRecord {
  std::string model;
  int64_t version =
      0;  // 1, 2, 3, ... per model; the numbers of deleted versions are not used again
  std::string job_id;
  std::string learner;
  BlobDigest model_blob;
  int64_t model_bytes = 0;
  BlobDigest witness_blob;  // empty: none
  int64_t witness_bytes = 0;
  std::string summary;  // what lists show of a model, and its lineage
  Labels labels;
  absl::Time create_time;
  std::string description;
  int64_t revision = 1;              // counts changes of labels and description
  std::vector<std::string> aliases;  // that point to it, sorted
  std::string owner;                 // of the model
  int64_t number = 0;
};

// "{version}-{revision}": changes with labels and description, and differs between versions.
std::string VersionEtag(const VersionRecord& version);

// A move of an alias. They are never changed or deleted, not even with the model.
struct AliasChange {
  int64_t sequence = 0;  // 1, 2, 3, ... without gaps within an alias, removals and all
  absl::Time time;       // never before that of the change before
  std::string caller;    // who asked for it; empty: unknown
  int64_t from = 0;      // version; 0: the alias did not exist
  int64_t to = 0;        // version; 0: the alias was removed
  bool rollback = false;

  friend bool operator==(const AliasChange&, const AliasChange&) = default;
};

// A page of a list. `size` 0 means kDefaultPageSize; sizes above kMaxPageSize are lowered to it.
struct PageRequest {
  int32_t size = 0;
  std::string token;  // empty: the first page
};
inline constexpr int32_t kDefaultPageSize = 50;
inline constexpr int32_t kMaxPageSize = 1000;

template <typename T>
struct Page {
  std::vector<T> items;
  std::string next_token;  // empty: this was the last page
};

}  // namespace mercer::server
