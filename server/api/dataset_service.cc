// DatasetService over gRPC.
#include <utility>

#include <grpcpp/support/server_callback.h>

#include "mercer/v1/dataset_service.grpc.pb.h"
#include "server/api/dataset_handlers.h"
#include "server/api/dataset_upload.h"
#include "server/api/open_stream.h"
#include "server/api/services.h"

namespace mercer::server {
namespace {

// One step at a time: read a message, handle it on a pool, read the next. A drain ends it between two
// steps. Deletes itself.
class UploadReactor final : public grpc::ServerReadReactor<v1::UploadDatasetRequest> {
 public:
  UploadReactor(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
                grpc::CallbackServerContext* context, v1::Dataset* response)
      : environment_(environment),
        context_(context),
        response_(response),
        call_(std::move(call)),
        upload_(std::make_unique<DatasetUpload>(api, call_.info().caller)),
        tracked_(*environment.calls, {[this] { OnDrain(); }, nullptr}) {
    Read();
  }

  void OnReadDone(bool ok) override {
    if (!steps_.Resume()) {
      return;
    }
    // A message is written to a file in a moment; the whole is parsed and stored for as long as it
    // takes.
    if (ok) {
      environment_.io->Post([this] { AddMessage(); });
    } else {
      environment_.compute->Post([this] { Store(); });
    }
  }

  void OnDone() override { delete this; }

 private:
  void Read() {
    if (!steps_.Wait([this] { StartRead(&message_); })) {
      End(DrainingError());
    }
  }

  // Not at once: the files are synced at the end, and the thread that drains has other calls to tell.
  void OnDrain() {
    if (steps_.Interrupt()) {
      environment_.io->Post([this] { End(DrainingError()); });
    }
  }

  void AddMessage() {
    const absl::Status status = RunSafely(call_.method(), [this]() -> absl::Status {
      if (message_.has_header() && context_->IsCancelled()) {
        // It would take the upload from the stream that its client has begun since. A chunk is kept: it has been sent, and the
        // client goes on behind it, unless another stream has taken over.
        return absl::CancelledError("the client has gone");
      }
      MERCER_RETURN_IF_ERROR(call_.CheckCaller());
      if (message_.has_header()) {
        subject_.resource = message_.header().dataset_id();
        subject_.request_id = message_.header().request_id();
      }
      return upload_->Add(message_);
    });
    if (status.ok() && upload_->finished() != nullptr) {
      *response_ = *upload_->finished();
      End(absl::OkStatus());
    } else if (status.ok()) {
      Read();
    } else {
      End(status);
    }
  }

  void Store() {
    const auto is_cancelled = [this] { return context_->IsCancelled(); };
    End(RunSafely(call_.method(), [&]() -> absl::Status {
      if (is_cancelled()) {
        return absl::CancelledError("the client has gone");
      }
      MERCER_RETURN_IF_ERROR(call_.CheckCaller());
      MERCER_ASSIGN_OR_RETURN(*response_, upload_->Finish(is_cancelled));
      return absl::OkStatus();
    }));
  }

  // Removes the files, or vouches for them, before the client hears of the end.
  void End(const absl::Status& status) {
    upload_.reset();
    if (!response_->name().empty()) {
      subject_.resource = response_->name();
    }
    Finish(call_.End(status, subject_));
  }

  const RpcEnvironment& environment_;
  grpc::CallbackServerContext* context_;
  v1::Dataset* response_;
  CallRecord call_;
  std::unique_ptr<DatasetUpload> upload_;
  AuditSubject subject_;
  v1::UploadDatasetRequest message_;
  StreamSteps steps_;
  TrackedCall tracked_;
};

class DatasetServiceImpl final : public v1::DatasetService::CallbackService {
 public:
  DatasetServiceImpl(const RpcEnvironment& environment, const ApiContext& context)
      : environment_(environment), context_(context), handlers_(context) {
    expiry_.Add([this] { context_.uploads->RemoveExpired(PolicyOfUploads(context_)); });
  }

  grpc::ServerReadReactor<v1::UploadDatasetRequest>* UploadDataset(
      grpc::CallbackServerContext* context, v1::Dataset* response) override {
    return OpenStream<grpc::ServerReadReactor<v1::UploadDatasetRequest>>(
        environment_, context, "DatasetService/UploadDataset", [&](CallRecord call) {
          return new UploadReactor(environment_, context_, std::move(call), context, response);
        });
  }

  grpc::ServerUnaryReactor* GetDataset(grpc::CallbackServerContext* context,
                                       const v1::GetDatasetRequest* request,
                                       v1::Dataset* response) override {
    return RunUnary(environment_, environment_.io, context, "DatasetService/GetDataset", request,
                    response,
                    [this](const auto& message) { return handlers_.GetDataset(message); });
  }

  grpc::ServerUnaryReactor* ListDatasets(grpc::CallbackServerContext* context,
                                         const v1::ListDatasetsRequest* request,
                                         v1::ListDatasetsResponse* response) override {
    return RunUnary(environment_, environment_.io, context, "DatasetService/ListDatasets", request,
                    response,
                    [this](const auto& message) { return handlers_.ListDatasets(message); });
  }

  grpc::ServerUnaryReactor* GetUpload(grpc::CallbackServerContext* context,
                                      const v1::GetUploadRequest* request,
                                      v1::Upload* response) override {
    return RunUnary(environment_, environment_.io, context, "DatasetService/GetUpload", request,
                    response, [this](const auto& message) { return handlers_.GetUpload(message); });
  }

  grpc::ServerUnaryReactor* ListUploads(grpc::CallbackServerContext* context,
                                        const v1::ListUploadsRequest* request,
                                        v1::ListUploadsResponse* response) override {
    return RunUnary(environment_, environment_.io, context, "DatasetService/ListUploads", request,
                    response,
                    [this](const auto& message) { return handlers_.ListUploads(message); });
  }

  grpc::ServerUnaryReactor* DeleteUpload(grpc::CallbackServerContext* context,
                                         const v1::DeleteUploadRequest* request,
                                         google::protobuf::Empty* response) override {
    return RunUnary(environment_, environment_.io, context, "DatasetService/DeleteUpload", request,
                    response,
                    [this](const auto& message) { return handlers_.DeleteUpload(message); });
  }

  grpc::ServerUnaryReactor* DeleteDataset(grpc::CallbackServerContext* context,
                                          const v1::DeleteDatasetRequest* request,
                                          google::protobuf::Empty* response) override {
    return RunUnary(environment_, environment_.io, context, "DatasetService/DeleteDataset", request,
                    response,
                    [this](const auto& message) { return handlers_.DeleteDataset(message); });
  }

 private:
  const RpcEnvironment& environment_;
  const ApiContext& context_;
  DatasetHandlers handlers_;
  // A thread of its own, as heartbeats must not wait for the removal of large files. Last: it uses all above.
  Ticker expiry_{absl::Minutes(1)};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeDatasetService(const RpcEnvironment& environment,
                                                  const ApiContext& context) {
  return std::make_unique<DatasetServiceImpl>(environment, context);
}

}  // namespace mercer::server
