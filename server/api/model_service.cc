// ModelService over gRPC.
#include <algorithm>
#include <string>
#include <utility>

#include "mercer/v1/model_service.pb.h"
#include "server/api/job_call.h"
#include "server/api/job_starter.h"
#include "server/api/model_handlers.h"
#include "server/api/services.h"
#include "server/prediction/model_jobs.h"
#include "server/rpc/rpc_service.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

constexpr size_t kExportChunkBytes = size_t{1} << 20;

// Opens the file on the I/O pool, then writes header and chunks, one at a time; their bytes may come
// from the disk, so each is read there too. Deletes itself.
class ExportCall final : public RequestCall {
 public:
  ExportCall(const RpcEnvironment& environment, const ModelHandlers& handlers, CallRecord call,
             grpc::CallbackServerContext* context)
      : RequestCall(environment, std::move(call), context, request_), handlers_(handlers) {}

  void OnWriteDone(bool ok) override {
    if (!ok) {
      End(absl::CancelledError("the client has gone"));
    } else if (sent_ == export_.file->contents().size()) {
      End(absl::OkStatus());
    } else if (environment_.calls->draining()) {
      End(DrainingError());
    } else {
      PostOrEnd(*environment_.io, [this] { Step(&ExportCall::FillChunk); });
    }
  }

 private:
  void Begin() override {
    PostOrEnd(*environment_.io, [this] { Step(&ExportCall::Open); });
  }
  void EndForDrain() override {}  // the next piece that is sent does
  void CancelForDrain() override { context_->TryCancel(); }

  // Prepares response_ by `fill` and sends it.
  void Step(absl::Status (ExportCall::*fill)()) {
    const absl::Status status = RunSafely(call_.method(), [&]() -> absl::Status {
      MERCER_RETURN_IF_ERROR((this->*fill)());
      bytes_ = BytesOf(response_);
      return absl::OkStatus();
    });
    if (status.ok()) {
      StartWrite(&bytes_);
    } else {
      End(status);
    }
  }

  absl::Status Open() {
    MERCER_RETURN_IF_ERROR(call_.Check(*context_, request_));
    MERCER_ASSIGN_OR_RETURN(export_, handlers_.OpenExport(request_));
    if (environment_.calls->draining()) {
      return DrainingError();
    }
    Choose(response_, &v1::ExportModelResponse::mutable_header) = export_.header;
    return absl::OkStatus();
  }

  absl::Status FillChunk() {
    MERCER_RETURN_IF_ERROR(call_.CheckCaller());
    const std::string_view bytes = export_.file->contents();
    const size_t size = std::min(kExportChunkBytes, bytes.size() - sent_);
    response_.set_chunk(bytes.data() + sent_, size);
    sent_ += size;
    return absl::OkStatus();
  }

  const ModelHandlers& handlers_;
  v1::ExportModelRequest request_;
  ModelExport export_;
  size_t sent_ = 0;
  v1::ExportModelResponse response_;
};

class ModelRpcs final : public RpcService {
 public:
  ModelRpcs(const RpcEnvironment& environment, const ApiContext& context, ModelCache& cache)
      : RpcService(environment), context_(context), handlers_(context, cache) {
    Answer("ModelService/GetModel", handlers_, &ModelHandlers::GetModel);
    Answer("ModelService/ListModels", handlers_, &ModelHandlers::ListModels);
    Answer("ModelService/UpdateModel", handlers_, &ModelHandlers::UpdateModel);
    Answer("ModelService/DeleteModel", handlers_, &ModelHandlers::DeleteModel);
    Answer("ModelService/GetModelVersion", handlers_, &ModelHandlers::GetModelVersion);
    Answer("ModelService/ListModelVersions", handlers_, &ModelHandlers::ListModelVersions);
    Answer("ModelService/UpdateModelVersion", handlers_, &ModelHandlers::UpdateModelVersion);
    Answer("ModelService/DeleteModelVersion", handlers_, &ModelHandlers::DeleteModelVersion);
    Answer("ModelService/SetRetention", handlers_, &ModelHandlers::SetRetention);
    Answer("ModelService/GetAlias", handlers_, &ModelHandlers::GetAlias);
    Answer("ModelService/ListAliases", handlers_, &ModelHandlers::ListAliases);
    Answer("ModelService/ListAliasHistory", handlers_, &ModelHandlers::ListAliasHistory);
    Answer("ModelService/SetAlias", handlers_, &ModelHandlers::SetAlias);
    Answer("ModelService/RollbackAlias", handlers_, &ModelHandlers::RollbackAlias);
    Assess<v1::EvaluateModelRequest, v1::EvaluateModelResponse>(
        "ModelService/EvaluateModel", "ModelService/StartEvaluation", JobKind::kEvaluation,
        AdmitEvaluation);
    Assess<v1::VerifyModelRequest, v1::VerifyModelResponse>(
        "ModelService/VerifyModel", "ModelService/StartVerification", JobKind::kVerification,
        AdmitVerification);
    Open<ExportCall>("ModelService/ExportModel", handlers_);
  }

 private:
  // Two calls that make a job which `admit` looks at: one that waits for its end, and one that does not.
  template <typename Request, typename Response, typename Admit>
  void Assess(const char* waiting, const char* starting, JobKind kind, Admit admit) {
    const auto submit = [this, kind, admit](const Request& request, const CallInfo& info,
                                            const CancellationToken& cancellation) {
      return StartJobOfCall(*context_.jobs, kind, request, info,
                            [&] { return admit(*context_.model_jobs, request, cancellation); });
    };
    Stream(waiting,
           [this, submit](CallRecord call, grpc::CallbackServerContext* client) -> ServerCall* {
             return new JobCallOf<Request, Response, decltype(submit)>(
                 environment_, context_, std::move(call), client, submit);
           });
    LongUnary<Request>(starting, *environment_.submission,
                       [this, kind, admit](const Request& request, const CallInfo& info,
                                           const CancellationToken& cancellation) {
                         return StartJob(
                             *context_.jobs, kind, request, info, FieldViolations(),
                             [&] { return admit(*context_.model_jobs, request, cancellation); });
                       });
  }

  const ApiContext& context_;
  ModelHandlers handlers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeModelService(const RpcEnvironment& environment,
                                                const ApiContext& context, ModelCache& cache) {
  return std::make_unique<ModelRpcs>(environment, context, cache);
}

}  // namespace mercer::server
