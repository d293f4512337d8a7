// ModelService over gRPC.
#include <algorithm>
#include <utility>

#include <grpcpp/support/server_callback.h>

#include "mercer/v1/model_service.grpc.pb.h"
#include "server/api/model_handlers.h"
#include "server/api/services.h"

namespace mercer::server {
namespace {

constexpr size_t kExportChunkBytes = size_t{1} << 20;

// Opens the file on the I/O pool, then writes header and chunks, one at a time; their bytes may come
// from the disk, so each is read there too. Deletes itself.
class ExportReactor final : public grpc::ServerWriteReactor<v1::ExportModelResponse> {
 public:
  ExportReactor(const RpcEnvironment& environment, const ModelHandlers& handlers,
                grpc::CallbackServerContext* context, const v1::ExportModelRequest* request)
      : environment_(environment),
        call_(environment, "ModelService/ExportModel"),
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
    const std::string_view bytes = export_.file->contents();
    const size_t size = std::min(kExportChunkBytes, bytes.size() - sent_);
    response_.set_chunk(bytes.data() + sent_, size);
    sent_ += size;
    return absl::OkStatus();
  }

  const RpcEnvironment& environment_;
  const CallRecord call_;
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
      : environment_(environment), handlers_(context, cache) {}

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
    return new ExportReactor(environment_, handlers_, context, request);
  }

  grpc::ServerUnaryReactor* UpdateModel(grpc::CallbackServerContext* context,
                                        const v1::UpdateModelRequest* request,
                                        v1::Model* response) override {
    return RunUnary(
        environment_, environment_.io, context, "ModelService/UpdateModel", request, response,
        [](const auto&) -> absl::StatusOr<v1::Model> { return NotImplemented("UpdateModel"); });
  }

  grpc::ServerUnaryReactor* SetAlias(grpc::CallbackServerContext* context,
                                     const v1::SetAliasRequest* request,
                                     v1::Alias* response) override {
    return RunUnary(
        environment_, environment_.io, context, "ModelService/SetAlias", request, response,
        [](const auto&) -> absl::StatusOr<v1::Alias> { return NotImplemented("SetAlias"); });
  }

  grpc::ServerUnaryReactor* EvaluateModel(grpc::CallbackServerContext* context,
                                          const v1::EvaluateModelRequest* request,
                                          v1::EvaluateModelResponse* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/EvaluateModel", request,
                    response, [](const auto&) -> absl::StatusOr<v1::EvaluateModelResponse> {
                      return NotImplemented("EvaluateModel");
                    });
  }

  grpc::ServerUnaryReactor* VerifyModel(grpc::CallbackServerContext* context,
                                        const v1::VerifyModelRequest* request,
                                        v1::VerifyModelResponse* response) override {
    return RunUnary(environment_, environment_.io, context, "ModelService/VerifyModel", request,
                    response, [](const auto&) -> absl::StatusOr<v1::VerifyModelResponse> {
                      return NotImplemented("VerifyModel");
                    });
  }

 private:
  const RpcEnvironment& environment_;
  ModelHandlers handlers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeModelService(const RpcEnvironment& environment,
                                                const ApiContext& context, ModelCache& cache) {
  return std::make_unique<ModelServiceImpl>(environment, context, cache);
}

}  // namespace mercer::server
