// ModelService over gRPC.
#include <algorithm>
#include <string>
#include <utility>

#include <grpcpp/support/server_callback.h>

#include "mercer/v1/model_service.grpc.pb.h"
#include "server/api/alias_handlers.h"
#include "server/api/assessment_handlers.h"
#include "server/api/long_unary.h"
#include "server/api/model_handlers.h"
#include "server/api/open_stream.h"
#include "server/api/services.h"

namespace mercer::server {
namespace {

constexpr size_t kExportChunkBytes = size_t{1} << 20;
// Evaluations at the same time, and as many verifications; others of their kind wait, and no other call
// waits for them.
constexpr int kLongCallsOfAKind = 2;

// Opens the file on the I/O pool, then writes header and chunks, one at a time; their bytes may come
// from the disk, so each is read there too. Deletes itself.
class ExportReactor final : public grpc::ServerWriteReactor<v1::ExportModelResponse> {
 public:
  ExportReactor(const RpcEnvironment& environment, const ModelHandlers& handlers, CallRecord call,
                grpc::CallbackServerContext* context, const v1::ExportModelRequest* request)
      : environment_(environment),
        call_(std::move(call)),
        handlers_(handlers),
        context_(context),
        request_(request),
        tracked_(*environment.calls, {nullptr, [this] { context_->TryCancel(); }}) {
    environment.io->Post([this] { Step(&ExportReactor::Open); });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      Finish(call_.End(absl::CancelledError("the client has gone")));
    } else if (sent_ == export_.file->contents().size()) {
      Finish(call_.End(absl::OkStatus()));
    } else if (environment_.calls->draining()) {
      Finish(call_.End(DrainingError()));
    } else {
      environment_.io->Post([this] { Step(&ExportReactor::FillChunk); });
    }
  }

  void OnDone() override { delete this; }

 private:
  // Prepares response_ by `fill` and sends it.
  void Step(absl::Status (ExportReactor::*fill)()) {
    const absl::Status status = RunSafely(call_.method(), [&] { return (this->*fill)(); });
    if (status.ok()) {
      StartWrite(&response_);
    } else {
      Finish(call_.End(status));
    }
  }

  absl::Status Open() {
    MERCER_RETURN_IF_ERROR(call_.Check(*context_, *request_));
    MERCER_ASSIGN_OR_RETURN(export_, handlers_.OpenExport(*request_));
    if (environment_.calls->draining()) {
      return DrainingError();
    }
    *response_.mutable_header() = export_.header;
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

  const RpcEnvironment& environment_;
  CallRecord call_;
  const ModelHandlers& handlers_;
  grpc::CallbackServerContext* context_;
  const v1::ExportModelRequest* request_;
  ModelExport export_;
  size_t sent_ = 0;
  v1::ExportModelResponse response_;
  TrackedCall tracked_;
};

class ModelServiceImpl final : public v1::ModelService::CallbackService {
 public:
  ModelServiceImpl(const RpcEnvironment& environment, const ApiContext& context, ModelCache& cache)
      : environment_(environment),
        handlers_(context, cache),
        aliases_(context, cache),
        assessments_(context, cache) {}

  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context,
                                     const v1::GetModelRequest* request,
                                     v1::Model* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/GetModel", request,
                    response, [this](const auto& message) { return handlers_.GetModel(message); });
  }

  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const v1::ListModelsRequest* request,
                                       v1::ListModelsResponse* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/ListModels", request,
                    response,
                    [this](const auto& message) { return handlers_.ListModels(message); });
  }

  grpc::ServerUnaryReactor* DeleteModel(grpc::CallbackServerContext* context,
                                        const v1::DeleteModelRequest* request,
                                        google::protobuf::Empty* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/DeleteModel", request,
                    response,
                    [this](const auto& message) { return handlers_.DeleteModel(message); });
  }

  grpc::ServerWriteReactor<v1::ExportModelResponse>* ExportModel(
      grpc::CallbackServerContext* context, const v1::ExportModelRequest* request) override {
    return OpenStream<grpc::ServerWriteReactor<v1::ExportModelResponse>>(
        environment_, context, "ModelService/ExportModel", [&](CallRecord call) {
          return new ExportReactor(environment_, handlers_, std::move(call), context, request);
        });
  }

  grpc::ServerUnaryReactor* UpdateModel(grpc::CallbackServerContext* context,
                                        const v1::UpdateModelRequest* request,
                                        v1::Model* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/UpdateModel", request,
                    response,
                    [this](const auto& message) { return handlers_.UpdateModel(message); });
  }

  grpc::ServerUnaryReactor* SetAlias(grpc::CallbackServerContext* context,
                                     const v1::SetAliasRequest* request,
                                     v1::Alias* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/SetAlias", request,
                    response, [this](const auto& message, const CallInfo& info) {
                      return aliases_.SetAlias(message, info.caller);
                    });
  }

  grpc::ServerUnaryReactor* RollbackAlias(grpc::CallbackServerContext* context,
                                          const v1::RollbackAliasRequest* request,
                                          v1::Alias* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/RollbackAlias", request,
                    response, [this](const auto& message, const CallInfo& info) {
                      return aliases_.RollbackAlias(message, info.caller);
                    });
  }

  grpc::ServerUnaryReactor* GetAlias(grpc::CallbackServerContext* context,
                                     const v1::GetAliasRequest* request,
                                     v1::Alias* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/GetAlias", request,
                    response, [this](const auto& message) { return aliases_.GetAlias(message); });
  }

  grpc::ServerUnaryReactor* ListAliases(grpc::CallbackServerContext* context,
                                        const v1::ListAliasesRequest* request,
                                        v1::ListAliasesResponse* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/ListAliases", request,
                    response,
                    [this](const auto& message) { return aliases_.ListAliases(message); });
  }

  grpc::ServerUnaryReactor* ListAliasHistory(grpc::CallbackServerContext* context,
                                             const v1::ListAliasHistoryRequest* request,
                                             v1::ListAliasHistoryResponse* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/ListAliasHistory",
                    request, response,
                    [this](const auto& message) { return aliases_.ListAliasHistory(message); });
  }

  grpc::ServerUnaryReactor* SetRetention(grpc::CallbackServerContext* context,
                                         const v1::SetRetentionRequest* request,
                                         v1::Retention* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/SetRetention", request,
                    response,
                    [this](const auto& message) { return handlers_.SetRetention(message); });
  }

  grpc::ServerUnaryReactor* GetRetention(grpc::CallbackServerContext* context,
                                         const v1::GetRetentionRequest* request,
                                         v1::Retention* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/GetRetention", request,
                    response,
                    [this](const auto& message) { return handlers_.GetRetention(message); });
  }

  grpc::ServerUnaryReactor* EvaluateModel(grpc::CallbackServerContext* context,
                                          const v1::EvaluateModelRequest* request,
                                          v1::EvaluateModelResponse* response) override {
    return RunLongUnary(environment_, evaluations_, context, "ModelService/EvaluateModel", request,
                        response,
                        [this](const auto& message, const CancellationToken& cancellation) {
                          return assessments_.EvaluateModel(message, cancellation);
                        });
  }

  grpc::ServerUnaryReactor* VerifyModel(grpc::CallbackServerContext* context,
                                        const v1::VerifyModelRequest* request,
                                        v1::VerifyModelResponse* response) override {
    return RunLongUnary(environment_, verifications_, context, "ModelService/VerifyModel", request,
                        response,
                        [this](const auto& message, const CancellationToken& cancellation) {
                          return assessments_.VerifyModel(message, cancellation);
                        });
  }

 private:
  const RpcEnvironment& environment_;
  ModelHandlers handlers_;
  AliasHandlers aliases_;
  AssessmentHandlers assessments_;
  // Last: their calls use the rest.
  ThreadPool evaluations_{kLongCallsOfAKind};
  ThreadPool verifications_{kLongCallsOfAKind};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeModelService(const RpcEnvironment& environment,
                                                const ApiContext& context, ModelCache& cache) {
  return std::make_unique<ModelServiceImpl>(environment, context, cache);
}

}  // namespace mercer::server
