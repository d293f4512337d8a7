// A Mercer server, from C++.
//
//   Client client({.address = "127.0.0.1:7345"});
//   absl::StatusOr<v1::Dataset> dataset = client.UploadDataset(header, {FileSource("a.csv")});
//   absl::StatusOr<v1::Job> job = client.Train(request);
//   absl::Status watched = client.WatchJob(job->name(), {.on_event = Print});
//
// Every method blocks. Calls that find the server unavailable are made again with growing delays;
// uploads, trainings and moves of aliases carry a request_id for that, which is generated when the caller gives none,
// so that a repeated call does nothing twice. Errors carry the server's details (errors.h).
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "client/cpp/retry.h"
#include "client/cpp/security.h"
#include "core/io/text/readers.h"
#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/model_service.pb.h"
#include "mercer/v1/prediction_service.pb.h"
#include "mercer/v1/server_service.pb.h"
#include "mercer/v1/training_service.pb.h"

namespace mercer::client {

struct ClientOptions {
  std::string address = {};                    // "host:port"
  absl::Duration timeout = absl::Seconds(30);  // of one attempt of a call without streams
  // Of one step of a stream: a chunk taken, an upload checked, a batch predicted, an event or heartbeat.
  absl::Duration stream_timeout = absl::Minutes(5);
  RetryPolicy retry = {};
  // While a job is watched: a server that restarts is waited for, about 90 seconds.
  RetryPolicy watch_retry = {.max_attempts = 24, .max_backoff = absl::Seconds(5)};
  Sleeper sleep = SleepUnlessStopped;
  Security security = {};  // CheckSecurity says whether it suits the address
};

// Bytes that can be read again from the start, because an upload may have to be repeated.
using UploadSource = std::function<absl::StatusOr<std::unique_ptr<ByteSource>>()>;
UploadSource FileSource(std::string path);
UploadSource MemorySource(std::string bytes);  // copies and attempts share the bytes

struct WatchOptions {
  int64_t after_sequence = 0;  // events with a larger number are wanted
  std::stop_token stop = {};   // ends watching, not the job
  std::function<void(const v1::ProgressEvent&)> on_event = {};
  // The stream broke and is opened again after `delay`. May be empty.
  std::function<void(const absl::Status& why, absl::Duration delay)> on_interruption = {};
};

struct WatchJobsOptions {
  std::stop_token stop = {};  // ends watching
  // Every message of the server but its signs of life.
  std::function<void(const v1::WatchJobsResponse&)> on_message = {};
  // The stream broke and is opened again after `delay`. What has changed since comes then, or, with `existing`, all jobs that
  // exist. May be empty.
  std::function<void(const absl::Status& why, absl::Duration delay)> on_interruption = {};
};

// The next rows to predict. Empty rows (no columns at all) end the input.
using RowsSource = std::function<absl::StatusOr<v1::Rows>()>;
using PredictionSink = std::function<absl::Status(const v1::PredictResponse&)>;

class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::string& address() const { return options_.address; }

  // Whether the server takes calls now, by gRPC's health protocol; asks once and needs no token. Errors: kUnavailable (nobody
  // answers, or it is starting or draining).
  absl::Status CheckHealth();
  // What the server is, can and takes.
  absl::StatusOr<v1::ServerInfo> GetServerInfo();

  // One source for each part of the header. `on_progress` (may be empty) hears how many bytes are there. Uploads of 4 MiB and
  // more are resumed where a stream broke, also over a restart of the server; with an upload_id in the header (upload.h makes
  // one), also by another process. The sources are read once before, for their digest.
  absl::StatusOr<v1::Dataset> UploadDataset(v1::UploadHeader header,
                                            const std::vector<UploadSource>& parts,
                                            const std::function<void(int64_t)>& on_progress = {});
  // Unfinished ones that can be resumed, of all callers, by name.
  absl::StatusOr<std::vector<v1::Upload>> ListUploads(int limit);
  // Drops the bytes of an unfinished upload, "uploads/{id}".
  // `caller`: whose upload of that name; empty: one's own.
  absl::Status DeleteUpload(const std::string& name, const std::string& caller = "");
  absl::StatusOr<v1::Dataset> GetDataset(const std::string& name, v1::DatasetView view);
  // All of them, newest first, at most `limit`.
  absl::StatusOr<std::vector<v1::Dataset>> ListDatasets(int limit);
  // Changes the labels.
  absl::StatusOr<v1::Dataset> UpdateDataset(const v1::UpdateDatasetRequest& request);
  // `filter` gives filter and order_by.
  absl::StatusOr<std::vector<v1::Dataset>> ListDatasets(v1::ListDatasetsRequest filter, int limit);
  // Deletions whose answer was lost are made again; finding nothing then is success. `when_unused`: one that a job needs is
  // hidden at once and deleted when the last such job has ended; else that is an error.
  absl::Status DeleteDataset(const std::string& name, bool when_unused = false);

  absl::StatusOr<v1::Job> Train(v1::TrainRequest request);
  // Jobs of other kinds; what comes of them is in the job that has ended.
  absl::StatusOr<v1::Job> StartPrediction(v1::PredictDatasetRequest request);
  absl::StatusOr<v1::Job> StartEvaluation(v1::EvaluateModelRequest request);
  absl::StatusOr<v1::Job> StartVerification(v1::VerifyModelRequest request);
  absl::StatusOr<v1::Job> GetJob(const std::string& name);
  // `filter` gives states, kinds, labels, filter and order_by.
  absl::StatusOr<std::vector<v1::Job>> ListJobs(v1::ListJobsRequest filter, int limit);
  absl::StatusOr<v1::Job> CancelJob(const std::string& name);
  // Keeps the best model so far; returns before it is there.
  absl::StatusOr<v1::Job> StopJob(const std::string& name);
  // Changes the labels.
  absl::StatusOr<v1::Job> UpdateJob(const v1::UpdateJobRequest& request);
  // Deletes a job that has ended; its model stays.
  absl::Status DeleteJob(const std::string& name);
  // What Train would cost; makes no job.
  absl::StatusOr<v1::EstimateCostResponse> EstimateCost(v1::TrainRequest request);
  absl::StatusOr<v1::ListLearnersResponse> ListLearners();
  // Hears every event once and in order, over broken streams and restarts of the server, until the
  // job has reached its final state (OK) or stop is requested (kCancelled).
  absl::Status WatchJob(const std::string& name, const WatchOptions& options);

  // The jobs that match the request, and their changes, over broken streams and restarts of the server, until stop is
  // requested (kCancelled). Nothing is missed.
  absl::Status WatchJobs(v1::WatchJobsRequest request, const WatchJobsOptions& options);

  absl::StatusOr<v1::Model> GetModel(const std::string& name);
  // `filter` gives filter and order_by.
  absl::StatusOr<std::vector<v1::Model>> ListModels(v1::ListModelsRequest filter, int limit);
  absl::StatusOr<v1::Model> UpdateModel(const v1::UpdateModelRequest& request);
  // With all its versions.
  absl::Status DeleteModel(const std::string& name);

  absl::StatusOr<v1::ModelVersion> GetModelVersion(const std::string& name,
                                                   v1::ModelVersionView view);
  // What an alias pointed to at a time.
  absl::StatusOr<v1::ModelVersion> GetModelVersionAsOf(const std::string& alias, absl::Time time);
  // `filter` gives model ("models/-": all), labels, learner, filter and order_by.
  absl::StatusOr<std::vector<v1::ModelVersion>> ListModelVersions(
      v1::ListModelVersionsRequest filter, int limit);
  absl::StatusOr<v1::ModelVersion> UpdateModelVersion(const v1::UpdateModelVersionRequest& request);
  absl::Status DeleteModelVersion(const std::string& name);

  absl::StatusOr<v1::Alias> SetAlias(v1::SetAliasRequest request);
  absl::StatusOr<v1::Alias> RollbackAlias(v1::RollbackAliasRequest request);
  absl::StatusOr<v1::Alias> GetAlias(const std::string& name);
  // By name.
  absl::StatusOr<std::vector<v1::Alias>> ListAliases(const std::string& model, int limit);
  // Newest first.
  absl::StatusOr<std::vector<v1::AliasChange>> ListAliasHistory(const std::string& name, int limit);
  absl::StatusOr<v1::Retention> SetRetention(const v1::SetRetentionRequest& request);

  // Take as long as they take. kCancelled when stop is requested.
  absl::StatusOr<v1::EvaluateModelResponse> EvaluateModel(const v1::EvaluateModelRequest& request,
                                                          const std::stop_token& stop = {});
  absl::StatusOr<v1::VerifyModelResponse> VerifyModel(const v1::VerifyModelRequest& request,
                                                      const std::stop_token& stop = {});
  // Writes the stored file to `path`, which has its old content until all bytes are there and have
  // the announced SHA-256. Errors: kDataLoss when they do not, or a pipe or device has got a part and no more; kCancelled
  // when stop is requested.
  absl::StatusOr<v1::ExportHeader> ExportModel(const std::string& name, const std::string& path,
                                               const std::stop_token& stop = {});

  // Writes a backup of everything that the server stores to `path`, which has its old content until the whole archive is
  // there and on the disk; answers its size in bytes. A new file is its owner's alone. Errors: kDataLoss (a pipe or device has
  // got a part of it and no more); kCancelled when stop is requested.
  absl::StatusOr<int64_t> Backup(const std::string& path, const std::stop_token& stop = {});

  // Predicts batch after batch; all answers come from one version of the model, also when the
  // stream broke in between. Batches whose answers exceed the server's limit of a message are halved until they fit.
  // Errors of the server count rows over all batches; RESPONSE_TOO_LARGE when the answer to one row alone exceeds that
  // limit. kCancelled when stop is requested.
  absl::Status Predict(v1::PredictHeader header, const RowsSource& next_rows,
                       const PredictionSink& sink, const std::stop_token& stop = {});
  // Predicts header.dataset.
  absl::Status PredictDataset(const v1::PredictHeader& header, const PredictionSink& sink,
                              const std::stop_token& stop = {});

 private:
  struct Stubs;

  Backoff NewBackoff(const RetryPolicy& policy) const;
  template <typename Stub, typename Method, typename Request>
  auto Call(Stub& stub, Method method, const Request& request);
  // Without a deadline.
  template <typename Stub, typename Method, typename Request>
  auto CallLong(Stub& stub, Method method, const Request& request, const std::stop_token& stop);
  template <typename Stub, typename Method, typename Request>
  absl::Status CallDelete(Stub& stub, Method method, const Request& request);
  absl::StatusOr<v1::Dataset> TryUpload(const v1::UploadHeader& header,
                                        const std::vector<UploadSource>& parts,
                                        const std::function<void(int64_t)>& on_progress);
  absl::Status TryWatch(const std::string& name, const WatchOptions& options,
                        int64_t& last_sequence, bool& got_anything);
  // The request is then the one that resumes the stream.
  absl::Status TryWatchJobs(const WatchJobsOptions& options, v1::WatchJobsRequest& request,
                            bool& got_anything);
  absl::StatusOr<v1::ExportHeader> TryExport(const std::string& name, const std::string& path,
                                             const std::stop_token& stop);
  absl::StatusOr<int64_t> TryBackup(const std::string& path, const std::stop_token& stop);
  // Waits until a connection stands or has failed.
  bool Connect() const;

  ClientOptions options_;
  std::unique_ptr<Stubs> stubs_;
};

}  // namespace mercer::client
