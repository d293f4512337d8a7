#include "tests/fault/crash_client.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include "client/cpp/errors.h"
#include "tests/fault/crash_workload.h"

namespace mercer::server {
namespace {

constexpr size_t kSlots = 3;

}  // namespace

std::string CombinationOf(size_t content, size_t recipe) {
  return absl::StrCat("content ", content, " recipe ", recipe);
}

std::string PredictionKey(const std::string& combination, size_t content) {
  return absl::StrCat(combination, " predicts ", content);
}

absl::StatusOr<std::string> PredictBits(Connection& connection, const std::string& model,
                                        const std::string& dataset) {
  grpc::ClientContext context;
  v1::PredictRequest request;
  request.set_model(model);
  request.set_dataset(dataset);
  v1::PredictResponse response;
  const absl::Status status =
      client::ToAbslStatus(connection.predictions->Predict(&context, request, &response));
  if (!status.ok()) {
    return status;
  }
  EXPECT_EQ(response.model(), model);
  return response.decision_values().SerializeAsString();
}

CrashClient::CrashClient(std::string name, uint64_t seed, const Reference& reference,
                         Ledger& ledger)
    : name_(std::move(name)), reference_(reference), ledger_(ledger), random_(seed) {
  for (size_t i = 0; i < kSlots; ++i) {
    Slot slot;
    slot.id = absl::StrCat(name_, "-", i);
    // The same for all that the slot ever holds: a deleted data set gives its request_id free.
    slot.request_id = i == 0 ? "" : absl::StrCat("upload-", slot.id);
    slots_.push_back(std::move(slot));
    Transfer transfer;
    transfer.id = absl::StrCat(name_, "-pieces-", i);
    transfers_.push_back(std::move(transfer));
  }
  for (const char* alias : {"-0/aliases/live", "-0/aliases/test", "-1/aliases/live"}) {
    Pointer pointer;
    pointer.name = absl::StrCat("models/", name_, alias);
    pointer.model = pointer.name.substr(0, pointer.name.find("/aliases/"));
    pointers_.push_back(std::move(pointer));
  }
}

void CrashClient::SettleAll(Connection& connection) {
  connection_ = &connection;
  lost_ = false;
  Settle();
}

void CrashClient::Live(Connection& connection, const OnMoment& on_moment) {
  on_moment_ = on_moment;
  SettleAll(connection);
  const int sum = std::accumulate(
      kOperations.begin(), kOperations.end(), 0,
      [](int total, const Operation& operation) { return total + operation.weight; });
  while (!lost_ && !testing::Test::HasFailure()) {
    auto chosen = static_cast<int>(Draw(random_, static_cast<size_t>(sum)));
    size_t operation = 0;
    while (chosen >= kOperations[operation].weight) {
      chosen -= kOperations[operation++].weight;
    }
    (this->*kOperations[operation].run)();
    ++operations_;
  }
}

void CrashClient::Settle() {
  if (doubt_ == nullptr) {
    return;
  }
  const Doubt doubt = std::exchange(doubt_, nullptr);
  doubt();
  if (lost_) {
    doubt_ = doubt;
  }
}

bool CrashClient::Lost(const absl::Status& status) {
  lost_ =
      lost_ || absl::IsUnavailable(status) || (connection_->draining && absl::IsCancelled(status));
  return lost_;
}

std::string CrashClient::AnyJob(const std::function<bool(const KnownJob&)>& is_wanted) {
  std::vector<std::string> candidates;
  for (const std::string& job : jobs_) {
    if (is_wanted(ledger_.Get(job))) {
      candidates.push_back(job);
    }
  }
  return candidates.empty() ? "" : candidates[Draw(random_, candidates.size())];
}

v1::UploadHeader CrashClient::HeaderOf(const Slot& slot, size_t content) const {
  v1::UploadHeader header = MakeUploadHeader();
  header.set_dataset_id(slot.id);
  header.set_request_id(slot.request_id);
  (*header.mutable_labels())["content"] = absl::StrCat(content);
  return header;
}

void CrashClient::NoteUpload(Slot& slot, size_t content, const v1::Dataset& dataset) {
  EXPECT_EQ(dataset.name(), absl::StrCat("datasets/", slot.id));
  EXPECT_EQ(dataset.digest(), reference_.dataset_digests[content]) << slot.id;
  EXPECT_EQ(dataset.labels().at("content"), absl::StrCat(content)) << slot.id;
  slot.content = content;
  slot.dataset = dataset;
}

void CrashClient::ReadDataset(Slot& slot, bool in_doubt, size_t content) {
  const absl::StatusOr<v1::Dataset> dataset =
      connection_->client.GetDataset(absl::StrCat("datasets/", slot.id), v1::DATASET_VIEW_FULL);
  if (Lost(dataset.status())) {
    return;
  }
  if (!dataset.ok()) {
    EXPECT_TRUE(absl::IsNotFound(dataset.status())) << dataset.status();
    EXPECT_TRUE(in_doubt || !slot.dataset.has_value()) << slot.id << " is lost";
    slot.dataset.reset();
  } else if (slot.dataset.has_value()) {
    EXPECT_EQ(Difference(*slot.dataset, *dataset), "");
  } else {
    EXPECT_TRUE(in_doubt) << slot.id << " is there again";
    NoteUpload(slot, content, *dataset);
  }
}

void CrashClient::NoteJob(const v1::TrainRequest& request, const v1::Job& job) {
  const std::string& operation = request.labels().at("op");
  ledger_.Add(operation, request.labels().at("combination"), job);
  jobs_.insert(job.name());
  job_operations_.insert(operation);
}

void CrashClient::FindJob(const v1::TrainRequest& request) {
  v1::ListJobsRequest filter;
  (*filter.mutable_labels())["op"] = request.labels().at("op");
  const absl::StatusOr<std::vector<v1::Job>> found = connection_->client.ListJobs(filter, 10);
  if (Lost(found.status())) {
    return;
  }
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_LE(found->size(), 1U) << "several jobs of operation " << request.labels().at("op");
  if (!found->empty()) {
    EXPECT_EQ(found->at(0).request().request_id(), request.request_id());
    NoteJob(request, found->at(0));
  }
}

void CrashClient::ReadVersion(const std::string& job, bool in_doubt) {
  const KnownJob known = ledger_.Get(job);
  const absl::StatusOr<v1::ModelVersion> model =
      connection_->client.GetModelVersion(known.model, v1::MODEL_VERSION_VIEW_BASIC);
  if (Lost(model.status())) {
    return;
  }
  if (!model.ok()) {
    EXPECT_TRUE(absl::IsNotFound(model.status())) << model.status();
    EXPECT_TRUE(in_doubt || deleted_.count(job) != 0) << known.model << " is lost";
    deleted_.insert(job);
    return;
  }
  EXPECT_EQ(deleted_.count(job), 0U) << known.model << " is there again";
  EXPECT_EQ(model->lineage().job(), job);
  if (known.prospects.same_bits) {
    EXPECT_EQ(model->digest(), reference_.model_digests.at(known.combination)) << known.model;
  } else {
    const auto [found, added] = stopped_digests_.emplace(job, model->digest());
    EXPECT_EQ(model->digest(), found->second) << known.model;
  }
}

void CrashClient::CheckAll(Connection& connection) {
  SettleAll(connection);
  for (Slot& slot : slots_) {
    ReadDataset(slot, /*in_doubt=*/false, 0);
  }
  for (const std::string& job : jobs_) {
    const absl::Status checked = ledger_.Check(connection, job);
    EXPECT_TRUE(checked.ok()) << job << ": " << checked;
    if (ledger_.Get(job).final_state == v1::JOB_STATE_SUCCEEDED) {
      ReadVersion(job, /*in_doubt=*/false);
    }
  }
  for (Pointer& pointer : pointers_) {
    ReadPointer(pointer, nullptr);
  }
  for (Transfer& transfer : transfers_) {
    FinishTransfer(transfer);
  }
  AwaitWorks();
  CheckDatasets();
  CheckModels();
  EXPECT_FALSE(lost_);
}

void CrashClient::AddExpectedBlobs(ExpectedBlobs& blobs) const {
  AddPredictedBlobs(blobs.datasets);
  for (const Slot& slot : slots_) {
    if (slot.dataset.has_value()) {
      blobs.datasets.insert(slot.dataset->digest());
    }
  }
  for (const Transfer& transfer : transfers_) {
    if (transfer.dataset.has_value()) {
      blobs.datasets.insert(transfer.dataset->digest());
    }
  }
  for (const std::string& job : jobs_) {
    const KnownJob known = ledger_.Get(job);
    if (known.final_state != v1::JOB_STATE_SUCCEEDED || deleted_.count(job) != 0) {
      continue;
    }
    if (known.prospects.same_bits) {
      blobs.models.insert(reference_.model_digests.at(known.combination));
    } else {
      blobs.stopped_models.insert(stopped_digests_.at(job));
    }
  }
}

}  // namespace mercer::server
