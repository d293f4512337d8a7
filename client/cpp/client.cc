#include "client/cpp/client.h"

#include <algorithm>
#include <random>
#include <stop_token>
#include <utility>

#include <google/protobuf/empty.pb.h>
#include <grpcpp/client_context.h>

#include "client/cpp/channel.h"
#include "client/cpp/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

constexpr int kPageSize = 500;
constexpr absl::Duration kReconnect = absl::Milliseconds(500);

template <typename Method>
struct ResponseOf;
template <typename Stub, typename Request, typename Response>
struct ResponseOf<grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*)> {
  using Type = Response;
};

// Collects the pages of a list. `call` takes the request, `items` the field of the answer.
template <typename Item, typename Request, typename Call, typename Items>
absl::StatusOr<std::vector<Item>> AllPages(Request request, int limit, Call call, Items items) {
  std::vector<Item> result;
  do {
    request.set_page_size(std::min(kPageSize, limit - static_cast<int>(result.size())));
    auto page = call(request);
    MERCER_RETURN_IF_ERROR(page.status());
    for (auto& item : *items(*page)) {
      result.push_back(std::move(item));
    }
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty() && static_cast<int>(result.size()) < limit);
  return result;
}

// So that a call which is made again, because its answer was lost, makes no second job.
template <typename Request>
void GiveRequestId(Request& request) {
  if (request.request_id().empty()) {
    request.set_request_id(NewRequestId());
  }
}

}  // namespace

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      stubs_(std::make_unique<Stubs>(MakeChannel(options_.address, options_.security))) {}

Client::~Client() = default;

Backoff Client::NewBackoff(const RetryPolicy& policy) const {
  return Backoff(policy, std::random_device()());
}

template <typename Stub, typename Method, typename Request>
auto Client::Call(Stub& stub, Method method, const Request& request) {
  using Response = typename ResponseOf<Method>::Type;
  return CallWithRetries(
      NewBackoff(options_.retry), options_.sleep, [&](int) -> absl::StatusOr<Response> {
        grpc::ClientContext context;
        context.set_deadline(absl::ToChronoTime(absl::Now() + options_.timeout));
        Response response;
        MERCER_RETURN_IF_ERROR(StatusOfCall((stub.*method)(&context, request, &response)));
        return response;
      });
}

template <typename Stub, typename Method, typename Request>
auto Client::CallLong(Stub& stub, Method method, const Request& request,
                      const std::stop_token& stop) {
  using Response = typename ResponseOf<Method>::Type;
  return CallWithRetries(
      NewBackoff(options_.retry), options_.sleep, [&](int) -> absl::StatusOr<Response> {
        grpc::ClientContext context;
        const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
        Response response;
        const grpc::Status status = (stub.*method)(&context, request, &response);
        MERCER_RETURN_IF_ERROR(stop.stop_requested() ? ToAbslStatus(status) : StatusOfCall(status));
        return response;
      });
}

bool Client::Connect() const {
  grpc_connectivity_state state = stubs_->channel->GetState(/*try_to_connect=*/true);
  if (state == GRPC_CHANNEL_SHUTDOWN) {
    return true;  // a channel that never connects: the call itself says why
  }
  // A channel that could not connect tries again by itself, and stays in this state until it succeeds.
  const bool failed_before = state == GRPC_CHANNEL_TRANSIENT_FAILURE;
  const absl::Duration patience = failed_before ? kReconnect : options_.timeout;
  const auto deadline = absl::ToChronoTime(absl::Now() + patience);
  while (state != GRPC_CHANNEL_READY) {
    if (!stubs_->channel->WaitForStateChange(state, deadline)) {
      return false;
    }
    state = stubs_->channel->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
      return false;
    }
  }
  return true;
}

// A call that was sent and whose answer was lost may have deleted; a repeated one that finds
// nothing then is a success. A call that was never sent, because nobody listens, or that the server
// refused has deleted nothing.
template <typename Stub, typename Method, typename Request>
absl::Status Client::CallDelete(Stub& stub, Method method, const Request& request) {
  bool may_be_done = false;
  return CallWithRetries(NewBackoff(options_.retry), options_.sleep, [&](int) -> absl::Status {
    if (!Connect()) {
      return absl::UnavailableError("cannot connect");
    }
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + options_.timeout));
    google::protobuf::Empty response;
    const absl::Status status = StatusOfCall((stub.*method)(&context, request, &response));
    if (may_be_done && absl::IsNotFound(status)) {
      return absl::OkStatus();
    }
    const bool refused = !ReadErrorReport(status).reason.empty();
    may_be_done = may_be_done || (absl::IsUnavailable(status) && !refused);
    return status;
  });
}

absl::StatusOr<v1::Dataset> Client::GetDataset(const std::string& name, v1::DatasetView view) {
  v1::GetDatasetRequest request;
  request.set_name(name);
  request.set_view(view);
  return Call(*stubs_->datasets, &v1::DatasetService::Stub::GetDataset, request);
}

absl::StatusOr<std::vector<v1::Dataset>> Client::ListDatasets(int limit) {
  return ListDatasets(v1::ListDatasetsRequest(), limit);
}

absl::StatusOr<std::vector<v1::Dataset>> Client::ListDatasets(v1::ListDatasetsRequest filter,
                                                              int limit) {
  return AllPages<v1::Dataset>(
      std::move(filter), limit,
      [&](const auto& request) {
        return Call(*stubs_->datasets, &v1::DatasetService::Stub::ListDatasets, request);
      },
      [](auto& page) { return page.mutable_datasets(); });
}

absl::StatusOr<std::vector<v1::Upload>> Client::ListUploads(int limit) {
  return AllPages<v1::Upload>(
      v1::ListUploadsRequest(), limit,
      [&](const auto& request) {
        return Call(*stubs_->datasets, &v1::DatasetService::Stub::ListUploads, request);
      },
      [](auto& page) { return page.mutable_uploads(); });
}

absl::Status Client::DeleteUpload(const std::string& name, const std::string& caller) {
  v1::DeleteUploadRequest request;
  request.set_name(name);
  request.set_caller(caller);
  return CallDelete(*stubs_->datasets, &v1::DatasetService::Stub::DeleteUpload, request);
}

absl::StatusOr<v1::Dataset> Client::UpdateDataset(const v1::UpdateDatasetRequest& request) {
  return Call(*stubs_->datasets, &v1::DatasetService::Stub::UpdateDataset, request);
}

absl::Status Client::DeleteDataset(const std::string& name, bool when_unused) {
  v1::DeleteDatasetRequest request;
  request.set_name(name);
  request.set_when_unused(when_unused);
  return CallDelete(*stubs_->datasets, &v1::DatasetService::Stub::DeleteDataset, request);
}

absl::StatusOr<v1::Job> Client::Train(v1::TrainRequest request) {
  GiveRequestId(request);
  return Call(*stubs_->training, &v1::TrainingService::Stub::Train, request);
}

absl::StatusOr<v1::Job> Client::StartPrediction(v1::PredictDatasetRequest request) {
  GiveRequestId(request);
  return Call(*stubs_->predictions, &v1::PredictionService::Stub::PredictDataset, request);
}

absl::StatusOr<v1::Job> Client::StartEvaluation(v1::EvaluateModelRequest request) {
  GiveRequestId(request);
  return Call(*stubs_->models, &v1::ModelService::Stub::StartEvaluation, request);
}

absl::StatusOr<v1::Job> Client::StartVerification(v1::VerifyModelRequest request) {
  GiveRequestId(request);
  return Call(*stubs_->models, &v1::ModelService::Stub::StartVerification, request);
}

absl::StatusOr<v1::Job> Client::GetJob(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  return Call(*stubs_->training, &v1::TrainingService::Stub::GetJob, request);
}

absl::StatusOr<std::vector<v1::Job>> Client::ListJobs(v1::ListJobsRequest filter, int limit) {
  return AllPages<v1::Job>(
      std::move(filter), limit,
      [&](const auto& request) {
        return Call(*stubs_->training, &v1::TrainingService::Stub::ListJobs, request);
      },
      [](auto& page) { return page.mutable_jobs(); });
}

absl::StatusOr<v1::Job> Client::CancelJob(const std::string& name) {
  v1::CancelJobRequest request;
  request.set_name(name);
  return Call(*stubs_->training, &v1::TrainingService::Stub::CancelJob, request);
}

absl::StatusOr<v1::Job> Client::StopJob(const std::string& name) {
  v1::StopJobRequest request;
  request.set_name(name);
  return Call(*stubs_->training, &v1::TrainingService::Stub::StopJob, request);
}

absl::StatusOr<v1::Job> Client::UpdateJob(const v1::UpdateJobRequest& request) {
  return Call(*stubs_->training, &v1::TrainingService::Stub::UpdateJob, request);
}

absl::Status Client::DeleteJob(const std::string& name) {
  v1::DeleteJobRequest request;
  request.set_name(name);
  return CallDelete(*stubs_->training, &v1::TrainingService::Stub::DeleteJob, request);
}

absl::StatusOr<v1::EstimateCostResponse> Client::EstimateCost(v1::TrainRequest request) {
  v1::EstimateCostRequest wrapped;
  *wrapped.mutable_training() = std::move(request);
  return Call(*stubs_->training, &v1::TrainingService::Stub::EstimateCost, wrapped);
}

absl::StatusOr<v1::ServerInfo> Client::GetServerInfo() {
  return Call(*stubs_->about, &v1::ServerService::Stub::GetServerInfo, v1::GetServerInfoRequest());
}

absl::StatusOr<v1::ListLearnersResponse> Client::ListLearners() {
  return Call(*stubs_->training, &v1::TrainingService::Stub::ListLearners,
              v1::ListLearnersRequest());
}

absl::StatusOr<v1::Model> Client::GetModel(const std::string& name) {
  v1::GetModelRequest request;
  request.set_name(name);
  return Call(*stubs_->models, &v1::ModelService::Stub::GetModel, request);
}

absl::StatusOr<std::vector<v1::Model>> Client::ListModels(v1::ListModelsRequest filter, int limit) {
  return AllPages<v1::Model>(
      std::move(filter), limit,
      [&](const auto& request) {
        return Call(*stubs_->models, &v1::ModelService::Stub::ListModels, request);
      },
      [](auto& page) { return page.mutable_models(); });
}

absl::StatusOr<v1::Model> Client::UpdateModel(const v1::UpdateModelRequest& request) {
  return Call(*stubs_->models, &v1::ModelService::Stub::UpdateModel, request);
}

absl::Status Client::DeleteModel(const std::string& name) {
  v1::DeleteModelRequest request;
  request.set_name(name);
  return CallDelete(*stubs_->models, &v1::ModelService::Stub::DeleteModel, request);
}

absl::StatusOr<v1::ModelVersion> Client::GetModelVersion(const std::string& name,
                                                         v1::ModelVersionView view) {
  v1::GetModelVersionRequest request;
  request.set_name(name);
  request.set_view(view);
  return Call(*stubs_->models, &v1::ModelService::Stub::GetModelVersion, request);
}

absl::StatusOr<v1::ModelVersion> Client::GetModelVersionAsOf(const std::string& alias,
                                                             absl::Time time) {
  v1::GetModelVersionRequest request;
  request.set_name(alias);
  const int64_t seconds = absl::ToUnixSeconds(time);
  request.mutable_as_of_time()->set_seconds(seconds);
  request.mutable_as_of_time()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return Call(*stubs_->models, &v1::ModelService::Stub::GetModelVersion, request);
}

absl::StatusOr<std::vector<v1::ModelVersion>> Client::ListModelVersions(
    v1::ListModelVersionsRequest filter, int limit) {
  return AllPages<v1::ModelVersion>(
      std::move(filter), limit,
      [&](const auto& request) {
        return Call(*stubs_->models, &v1::ModelService::Stub::ListModelVersions, request);
      },
      [](auto& page) { return page.mutable_versions(); });
}

absl::StatusOr<v1::ModelVersion> Client::UpdateModelVersion(
    const v1::UpdateModelVersionRequest& request) {
  return Call(*stubs_->models, &v1::ModelService::Stub::UpdateModelVersion, request);
}

absl::Status Client::DeleteModelVersion(const std::string& name) {
  v1::DeleteModelVersionRequest request;
  request.set_name(name);
  return CallDelete(*stubs_->models, &v1::ModelService::Stub::DeleteModelVersion, request);
}

absl::StatusOr<v1::Alias> Client::SetAlias(v1::SetAliasRequest request) {
  if (request.request_id().empty()) {
    request.set_request_id(NewRequestId());
  }
  return Call(*stubs_->models, &v1::ModelService::Stub::SetAlias, request);
}

absl::StatusOr<v1::Alias> Client::RollbackAlias(v1::RollbackAliasRequest request) {
  if (request.request_id().empty()) {
    request.set_request_id(NewRequestId());
  }
  return Call(*stubs_->models, &v1::ModelService::Stub::RollbackAlias, request);
}

absl::StatusOr<v1::Alias> Client::GetAlias(const std::string& name) {
  v1::GetAliasRequest request;
  request.set_name(name);
  return Call(*stubs_->models, &v1::ModelService::Stub::GetAlias, request);
}

absl::StatusOr<std::vector<v1::Alias>> Client::ListAliases(const std::string& model, int limit) {
  v1::ListAliasesRequest filter;
  filter.set_model(model);
  return AllPages<v1::Alias>(
      std::move(filter), limit,
      [&](const auto& request) {
        return Call(*stubs_->models, &v1::ModelService::Stub::ListAliases, request);
      },
      [](auto& page) { return page.mutable_aliases(); });
}

absl::StatusOr<std::vector<v1::AliasChange>> Client::ListAliasHistory(const std::string& name,
                                                                      int limit) {
  v1::ListAliasHistoryRequest filter;
  filter.set_name(name);
  return AllPages<v1::AliasChange>(
      std::move(filter), limit,
      [&](const auto& request) {
        return Call(*stubs_->models, &v1::ModelService::Stub::ListAliasHistory, request);
      },
      [](auto& page) { return page.mutable_changes(); });
}

absl::StatusOr<v1::Retention> Client::SetRetention(const v1::SetRetentionRequest& request) {
  return Call(*stubs_->models, &v1::ModelService::Stub::SetRetention, request);
}

absl::StatusOr<v1::EvaluateModelResponse> Client::EvaluateModel(
    const v1::EvaluateModelRequest& request, const std::stop_token& stop) {
  return CallLong(*stubs_->models, &v1::ModelService::Stub::EvaluateModel, request, stop);
}

absl::StatusOr<v1::VerifyModelResponse> Client::VerifyModel(const v1::VerifyModelRequest& request,
                                                            const std::stop_token& stop) {
  return CallLong(*stubs_->models, &v1::ModelService::Stub::VerifyModel, request, stop);
}

}  // namespace mercer::client
