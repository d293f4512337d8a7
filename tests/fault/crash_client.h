// One client of the crash suite: random operations on names of its own, and what it expects of them. What it uploads and
// trains has the same content as that of the other clients, so that they share blobs.
//
// It does one thing at a time, so when the server is lost at most one operation is in doubt: both outcomes are allowed
// until the next life has said which it was. An operation is a method and a line in kOperations:
//   - it calls the server and hands the status to Lost; when that says yes, it leaves a Doubt, which asks the next life;
//   - otherwise it notes what was acknowledged, or expects the refusal that what it knows calls for.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "tests/fault/connection.h"
#include "tests/fault/crash_moments.h"
#include "tests/fault/ledger.h"

namespace mercer::server {

// What an uninterrupted server makes of the contents and recipes.
struct Reference {
  std::vector<std::string> contents;                 // CSV
  std::vector<std::string> dataset_digests;          // by content
  std::map<std::string, std::string> model_digests;  // by combination
  std::map<std::string, std::string> predictions;    // by PredictionKey
  std::map<std::string, std::string> evaluations;    // by PredictionKey: MetricsOf
  // By PredictionKey: of the data set that holds the predictions.
  std::map<std::string, std::string> predicted_digests;
  std::vector<std::string> transfer_digests;  // by content
};
std::string CombinationOf(size_t content, size_t recipe);
std::string PredictionKey(const std::string& combination, size_t content);
// The bits of a model's predictions of a data set.
absl::StatusOr<std::string> PredictBits(Connection& connection, const std::string& model,
                                        const std::string& dataset);

// The bytes of all that an evaluation tells, but for the version's name.
std::string MetricsOf(const v1::EvaluateModelResponse& evaluation);

// Digests of what must be there.
struct ExpectedBlobs {
  std::set<std::string> datasets;
  std::set<std::string> models;          // each has a witness of its own
  std::set<std::string> stopped_models;  // may have that of another one
};

class CrashClient {
 public:
  CrashClient(std::string name, uint64_t seed, const Reference& reference, Ledger& ledger);

  // Settles the doubt that the life before has left, then does operations until the server is lost.
  void Live(Connection& connection, const OnMoment& on_moment);
  // The same without operations.
  void SettleAll(Connection& connection);
  // Checks everything that this client has ever known. Nothing is in doubt, all jobs are final.
  void CheckAll(Connection& connection);

  int64_t operations() const { return operations_; }
  // Jobs that are no trainings.
  size_t num_works() const { return works_.size(); }
  // How many attempts of them a kill has ended.
  int64_t num_lost_works() const;
  // Labels "op" of all jobs that there are.
  const std::set<std::string>& job_operations() const { return job_operations_; }
  void AddExpectedBlobs(ExpectedBlobs& blobs) const;

 private:
  // A name for a data set, which comes and goes.
  struct Slot {
    std::string id;
    std::optional<v1::Dataset> dataset;  // none: it is not there
    size_t content = 0;
    std::string request_id;  // may be empty
  };
  // An alias of one of its models, which nobody else moves.
  struct Pointer {
    std::string model;  // "models/{model}"
    std::string name;
    std::string version;  // empty: there is none
    std::string etag = "none";
    std::vector<v1::AliasChange> history;  // oldest first; without a time until it was read
  };
  // An upload in pieces, which comes and goes: its bytes first, then its data set.
  struct Transfer {
    std::string id;  // of the upload and of the data set
    size_t content = 0;
    int64_t kept =
        -1;  // bytes that are there for certain; negative: there need not even be an upload
    int64_t sent = 0;  // no more than these are there
    std::optional<v1::Dataset> dataset;
  };
  // A job that is no training. What it makes is kept.
  struct Work {
    v1::JobKind kind = v1::JOB_KIND_UNSPECIFIED;
    std::string training;  // the job that made the model
    std::string version;
    std::string dataset;
    std::string key;   // PredictionKey
    v1::Job job = {};  // as it was read last

    bool has_ended() const { return job.state() >= v1::JOB_STATE_SUCCEEDED; }
  };
  struct Operation {
    void (CrashClient::*run)();
    int weight;
  };
  static const std::vector<Operation> kOperations;
  // Asks the server what became of an operation.
  using Doubt = std::function<void()>;

  // Whether the server has died; then nothing is known of the call.
  bool Lost(const absl::Status& status);
  void Settle();
  bool OneIn(size_t count) { return Draw(random_, count) == 0; }
  Slot& AnySlot() { return slots_[Draw(random_, slots_.size())]; }
  Pointer& AnyPointer() { return pointers_[Draw(random_, pointers_.size())]; }
  Transfer& AnyTransfer() { return transfers_[Draw(random_, transfers_.size())]; }
  // One of its jobs with a property; empty when there is none.
  std::string AnyJob(const std::function<bool(const KnownJob&)>& is_wanted);

  void Upload();
  void UploadHalf();
  void DeleteDataset();
  void Train();
  void TrainAgain();
  void Cancel();
  void Stop();
  void DeleteModel();
  void Predict();
  void Assess();
  void CheckDatasets();
  void CheckAJob();
  void CheckModels();
  void MoveAlias();
  void CheckAliases();
  void TransferSome();
  void DropTransfer();
  void CheckTransfers();
  void StartWork();
  void CheckWorks();

  v1::UploadHeader HeaderOf(const Slot& slot, size_t content) const;
  void NoteUpload(Slot& slot, size_t content, const v1::Dataset& dataset);
  void ExpectDatasetTaken(const Slot& slot, const absl::Status& refusal);
  // Reads the data set; what it expects of it when the last operation on it is in doubt is either.
  void ReadDataset(Slot& slot, bool in_doubt, size_t content);
  void NoteJob(const v1::TrainRequest& request, const v1::Job& job);
  void FindJob(const v1::TrainRequest& request);
  // Learns whether a stop was accepted; `before` is what could become of the job without it.
  void ReadStop(const std::string& job, const Prospects& before);
  // Of a job that has succeeded.
  void ReadVersion(const std::string& job, bool in_doubt);
  bool HasAlias(const std::string& version) const;

  v1::SetAliasRequest DrawMove(const Pointer& pointer);
  void SendMove(Pointer& pointer, const v1::SetAliasRequest& request);
  void NoteMove(Pointer& pointer, const v1::SetAliasRequest& request, const v1::Alias& answer);
  // Expects what is known of it, or that and `pending`, if it is given.
  void ReadPointer(Pointer& pointer, const v1::SetAliasRequest* pending);
  void NoteHistory(Pointer& pointer, const std::vector<v1::AliasChange>& newest_first,
                   const v1::SetAliasRequest* pending);

  v1::UploadHeader HeaderOf(const Transfer& transfer) const;
  // Sends what is between the two positions, and a little of what is before them.
  void Send(Transfer& transfer, int64_t begin, int64_t end);
  void NoteDataset(Transfer& transfer, const v1::Dataset& dataset);
  void DeleteTransferred(Transfer& transfer);
  // Expects what is known of it; `may_be_gone`: or nothing.
  void ReadTransfer(Transfer& transfer, bool may_be_gone);
  void Forget(Transfer& transfer);
  void FinishTransfer(Transfer& transfer);

  absl::StatusOr<v1::Job> SendWork(const Work& work, const std::string& operation);
  void FindWork(const Work& work, const std::string& operation);
  void NoteWork(const Work& work, const std::string& operation, const v1::Job& job);
  void CheckWork(Work& work);
  void CheckResult(const Work& work);
  void AwaitWorks();
  void AddPredictedBlobs(std::set<std::string>& datasets) const;

  const std::string name_;
  const Reference& reference_;
  Ledger& ledger_;
  Random random_;
  std::vector<Slot> slots_;
  std::vector<Pointer> pointers_;
  std::vector<Transfer> transfers_;
  std::set<std::string> jobs_;         // trainings
  std::map<std::string, Work> works_;  // by job
  std::set<std::string> job_operations_;
  std::set<std::string> deleted_;  // jobs whose version of the model was deleted
  std::map<std::string, std::string> stopped_digests_;  // of the models of stopped jobs, by job
  Doubt doubt_;
  int last_operation_ = 0;
  int64_t operations_ = 0;
  // Of this life.
  Connection* connection_ = nullptr;
  OnMoment on_moment_ = [](Moment) {};
  bool lost_ = false;
};

}  // namespace mercer::server
