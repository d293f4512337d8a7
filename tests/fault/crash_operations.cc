// The operations of a client of the crash suite.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include "client/cpp/errors.h"
#include "tests/fault/crash_client.h"
#include "tests/fault/crash_workload.h"

namespace mercer::server {
namespace {

// Of one client: what is queued beyond is killed before it runs.
constexpr size_t kMostUnfinishedJobs = 3;
constexpr int kAll = 100'000;

std::string ReasonOf(const absl::Status& status) { return client::ReadErrorReport(status).reason; }

}  // namespace

const std::vector<CrashClient::Operation> CrashClient::kOperations = {
    {&CrashClient::Upload, 10},        {&CrashClient::UploadHalf, 4},
    {&CrashClient::DeleteDataset, 5},  {&CrashClient::Train, 20},
    {&CrashClient::TrainAgain, 3},     {&CrashClient::Cancel, 3},
    {&CrashClient::DeleteModel, 4},    {&CrashClient::Predict, 6},
    {&CrashClient::CheckDatasets, 3},  {&CrashClient::CheckAJob, 6},
    {&CrashClient::CheckModels, 3},    {&CrashClient::Stop, 3},
    {&CrashClient::MoveAlias, 10},     {&CrashClient::CheckAliases, 3},
    {&CrashClient::TransferSome, 12},  {&CrashClient::DropTransfer, 2},
    {&CrashClient::CheckTransfers, 3}, {&CrashClient::StartWork, 6},
    {&CrashClient::CheckWorks, 4},     {&CrashClient::Assess, 6},
};

void CrashClient::Upload() {
  Slot& slot = AnySlot();
  const size_t content = Draw(random_, kContents);
  on_moment_(Moment::kUpload);
  const absl::StatusOr<v1::Dataset> dataset = connection_->client.UploadDataset(
      HeaderOf(slot, content), {client::MemorySource(reference_.contents[content])});
  if (Lost(dataset.status())) {
    doubt_ = [this, &slot, content] { ReadDataset(slot, !slot.dataset.has_value(), content); };
    return;
  }
  if (!slot.dataset.has_value()) {
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    NoteUpload(slot, content, *dataset);
  } else if (!slot.request_id.empty() && content == slot.content) {
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ(Difference(*slot.dataset, *dataset), "");
  } else {
    EXPECT_EQ(ReasonOf(dataset.status()),
              slot.request_id.empty() ? "DATASET_EXISTS" : "REQUEST_ID_REUSED")
        << dataset.status();
  }
}

// An upload that breaks off leaves nothing, whether the client or the server is the one to go.
void CrashClient::UploadHalf() {
  Slot& slot = AnySlot();
  if (slot.dataset.has_value()) {
    return;
  }
  const size_t content = Draw(random_, kContents);
  grpc::ClientContext context;
  v1::Dataset dataset;
  const auto writer = connection_->datasets->UploadDataset(&context, &dataset);
  v1::UploadDatasetRequest message;
  *message.mutable_header() = HeaderOf(slot, content);
  bool open = writer->Write(message);
  const std::string& bytes = reference_.contents[content];
  const size_t end = Draw(random_, bytes.size());
  constexpr size_t kChunk = 10'000;
  on_moment_(Moment::kUpload);
  for (size_t begin = 0; open && begin < end; begin += kChunk) {
    message.mutable_chunk()->set_data(bytes.substr(begin, std::min(kChunk, end - begin)));
    open = writer->Write(message);
  }
  context.TryCancel();
  const absl::Status status = client::ToAbslStatus(writer->Finish());
  EXPECT_TRUE(absl::IsCancelled(status) || Lost(status)) << status;
}

void CrashClient::DeleteDataset() {
  Slot& slot = AnySlot();
  on_moment_(Moment::kDelete);
  const absl::Status status = connection_->client.DeleteDataset(absl::StrCat("datasets/", slot.id));
  if (Lost(status)) {
    doubt_ = [this, &slot] { ReadDataset(slot, slot.dataset.has_value(), slot.content); };
  } else if (status.ok()) {
    EXPECT_TRUE(slot.dataset.has_value()) << slot.id << " was deleted twice";
    slot.dataset.reset();
  } else if (ReasonOf(status) == "DATASET_IN_USE") {
    EXPECT_TRUE(slot.dataset.has_value()) << status;
  } else {
    EXPECT_TRUE(absl::IsNotFound(status) && !slot.dataset.has_value()) << status;
  }
}

void CrashClient::Train() {
  if (ledger_.CountUnfinished(jobs_) >= kMostUnfinishedJobs) {
    return;
  }
  const Slot& slot = AnySlot();
  const size_t recipe = Draw(random_, kRecipes);
  const std::string operation = absl::StrCat(name_, "-", ++last_operation_);
  v1::TrainRequest request = MakeRecipe(static_cast<int>(recipe));
  request.add_data()->set_dataset(absl::StrCat("datasets/", slot.id));
  request.set_model(absl::StrCat("models/", name_, "-", Draw(random_, 2)));
  request.set_request_id(OneIn(2) ? "train-" + operation : "");
  (*request.mutable_labels())["op"] = operation;
  (*request.mutable_labels())["combination"] = CombinationOf(slot.content, recipe);
  on_moment_(Moment::kTrain);
  grpc::ClientContext context;
  v1::Job job;
  const absl::Status status =
      client::ToAbslStatus(connection_->training->Train(&context, request, &job));
  if (Lost(status)) {
    doubt_ = [this, request] { FindJob(request); };
  } else if (slot.dataset.has_value()) {
    ASSERT_TRUE(status.ok()) << status;
    NoteJob(request, job);
  } else {
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
  }
}

// The same request gives the same job for ever.
void CrashClient::TrainAgain() {
  const std::string name =
      AnyJob([](const KnownJob& known) { return !known.created.request().request_id().empty(); });
  if (name.empty()) {
    return;
  }
  const v1::TrainRequest request = ledger_.Get(name).created.request();
  const absl::StatusOr<v1::Job> job = connection_->client.Train(request);
  if (!Lost(job.status())) {
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->name(), name) << request.request_id();
  }
}

void CrashClient::Cancel() {
  const std::string job = AnyJob([](const KnownJob& known) { return !known.is_final(); });
  if (job.empty()) {
    return;
  }
  const Prospects before = ledger_.Get(job).prospects;
  // From now on, because watchers may hear of it before the answer comes; if none comes, for ever.
  ledger_.Change(job, [](Prospects& prospects) { prospects.may_be_cancelled = true; });
  on_moment_(Moment::kCancel);
  const absl::StatusOr<v1::Job> answer = connection_->client.CancelJob(job);
  if (Lost(answer.status())) {
    return;
  }
  if (answer.ok()) {
    ledger_.Change(job, [](Prospects& prospects) { prospects.may_succeed = false; });
  } else {
    EXPECT_EQ(ReasonOf(answer.status()), "JOB_IS_FINAL") << answer.status();
    ledger_.Change(job, [&before](Prospects& prospects) { prospects = before; });
  }
}

void CrashClient::Stop() {
  const std::string job = AnyJob([](const KnownJob& known) { return !known.is_final(); });
  if (job.empty()) {
    return;
  }
  const Prospects before = ledger_.Get(job).prospects;
  // From now on, because watchers may hear of it before the answer comes.
  ledger_.Change(job, [](Prospects& prospects) {
    prospects.may_be_stopped = true;
    prospects.same_bits = false;
  });
  on_moment_(Moment::kStop);
  const absl::StatusOr<v1::Job> answer = connection_->client.StopJob(job);
  if (Lost(answer.status())) {
    doubt_ = [this, job, before] { ReadStop(job, before); };
  } else if (!answer.ok()) {
    EXPECT_EQ(ReasonOf(answer.status()), "JOB_IS_FINAL") << answer.status();
    ledger_.Change(job, [&before](Prospects& prospects) { prospects = before; });
  } else if (answer->stop_requested()) {
    ledger_.Change(job, [](Prospects& prospects) { prospects.stop_requested = true; });
  } else {
    EXPECT_TRUE(before.may_be_cancelled) << answer->ShortDebugString();
    ledger_.Change(job, [&before](Prospects& prospects) { prospects = before; });
  }
}

void CrashClient::ReadStop(const std::string& job, const Prospects& before) {
  const absl::StatusOr<v1::Job> answer = connection_->client.GetJob(job);
  if (Lost(answer.status())) {
    return;
  }
  ASSERT_TRUE(answer.ok()) << job << ": " << answer.status();
  ledger_.Change(job, [&](Prospects& prospects) {
    if (answer->stop_requested()) {
      prospects.stop_requested = true;
    } else {
      prospects = before;
    }
  });
}

void CrashClient::DeleteModel() {
  const std::string job = AnyJob([this](const KnownJob& known) {
    return known.final_state == v1::JOB_STATE_SUCCEEDED &&
           deleted_.count(known.created.name()) == 0;
  });
  if (job.empty()) {
    return;
  }
  ReadVersion(job, /*in_doubt=*/false);
  if (lost_) {
    return;
  }
  const std::string version = ledger_.Get(job).model;
  const bool has_alias = HasAlias(version);
  on_moment_(Moment::kDelete);
  const absl::Status status = connection_->client.DeleteModelVersion(version);
  if (Lost(status)) {
    doubt_ = [this, job, has_alias] { ReadVersion(job, /*in_doubt=*/!has_alias); };
    return;
  }
  if (has_alias) {
    EXPECT_EQ(ReasonOf(status), "VERSION_HAS_ALIAS") << version << ": " << status;
    return;
  }
  EXPECT_TRUE(status.ok()) << status;
  deleted_.insert(job);
}

void CrashClient::Predict() {
  const std::string job =
      AnyJob([](const KnownJob& known) { return known.final_state == v1::JOB_STATE_SUCCEEDED; });
  const Slot& slot = AnySlot();
  if (job.empty() || !slot.dataset.has_value()) {
    return;
  }
  const KnownJob known = ledger_.Get(job);
  const absl::StatusOr<std::string> bits =
      PredictBits(*connection_, known.model, slot.dataset->name());
  if (Lost(bits.status())) {
    return;
  }
  if (deleted_.count(job) != 0) {
    EXPECT_TRUE(absl::IsNotFound(bits.status())) << known.model << ": " << bits.status();
  } else if (known.prospects.same_bits) {
    ASSERT_TRUE(bits.ok()) << known.model << ": " << bits.status();
    EXPECT_TRUE(*bits == reference_.predictions.at(PredictionKey(known.combination, slot.content)))
        << known.model << " predicts otherwise than that of an uninterrupted run";
  }
}

// By calls that wait for a job: what becomes of those says Campaign::CheckAll, which knows all jobs that there may be.
void CrashClient::Assess() {
  const std::string job =
      AnyJob([](const KnownJob& known) { return known.final_state == v1::JOB_STATE_SUCCEEDED; });
  const Slot& slot = AnySlot();
  if (job.empty() || !slot.dataset.has_value()) {
    return;
  }
  v1::EvaluateModelRequest request;
  request.set_name(ledger_.Get(job).model);
  request.set_dataset(slot.dataset->name());
  grpc::ClientContext context;
  v1::EvaluateModelResponse response;
  on_moment_(Moment::kAssess);
  const absl::Status status =
      client::ToAbslStatus(connection_->models->EvaluateModel(&context, request, &response));
  if (Lost(status)) {
    return;
  }
  if (deleted_.count(job) != 0) {
    EXPECT_TRUE(absl::IsNotFound(status)) << request.name() << ": " << status;
  } else {
    ASSERT_TRUE(status.ok()) << request.name() << ": " << status;
    EXPECT_EQ(response.rows(), slot.dataset->rows());
  }
}

void CrashClient::CheckDatasets() {
  const absl::StatusOr<std::vector<v1::Dataset>> datasets = connection_->client.ListDatasets(kAll);
  if (Lost(datasets.status())) {
    return;
  }
  ASSERT_TRUE(datasets.ok()) << datasets.status();
  for (const Slot& slot : slots_) {
    const auto count =
        std::count_if(datasets->begin(), datasets->end(), [&](const v1::Dataset& dataset) {
          return dataset.name() == absl::StrCat("datasets/", slot.id);
        });
    EXPECT_EQ(count, slot.dataset.has_value() ? 1 : 0) << slot.id;
  }
}

void CrashClient::CheckAJob() {
  const std::string job = AnyJob([](const KnownJob&) { return true; });
  if (!job.empty()) {
    const absl::Status checked = ledger_.Check(*connection_, job);
    EXPECT_TRUE(checked.ok() || Lost(checked)) << job << ": " << checked;
  }
}

void CrashClient::CheckModels() {
  std::vector<KnownJob> known_before;
  for (const std::string& job : jobs_) {
    known_before.push_back(ledger_.Get(job));
  }
  std::set<std::string> listed;
  for (const std::string& model :
       {absl::StrCat("models/", name_, "-0"), absl::StrCat("models/", name_, "-1")}) {
    v1::ListModelVersionsRequest request;
    request.set_model(model);
    const absl::StatusOr<std::vector<v1::ModelVersion>> versions =
        connection_->client.ListModelVersions(std::move(request), kAll);
    if (Lost(versions.status())) {
      return;
    }
    EXPECT_TRUE(versions.ok() || absl::IsNotFound(versions.status())) << versions.status();
    for (const v1::ModelVersion& version : versions.value_or(std::vector<v1::ModelVersion>())) {
      listed.insert(version.name());
    }
  }
  for (const KnownJob& known : known_before) {
    if (known.final_state == v1::JOB_STATE_SUCCEEDED) {
      EXPECT_EQ(listed.count(known.model), 1 - deleted_.count(known.created.name())) << known.model;
    }
  }
}

}  // namespace mercer::server
