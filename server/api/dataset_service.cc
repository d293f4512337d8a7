// DatasetService over gRPC.
#include <utility>

#include "core/base/memory/memory_reserve.h"
#include "mercer/v1/dataset_service.pb.h"
#include "server/api/dataset_handlers.h"
#include "server/api/services.h"
#include "server/rpc/rpc_service.h"
#include "server/uploads/dataset_upload.h"

namespace mercer::server {
namespace {

// One step at a time: read a message, handle it on a pool, read the next. A drain ends it between two
// steps. Deletes itself.
class UploadCall final : public ServerCall {
 public:
  UploadCall(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
             grpc::CallbackServerContext* context)
      : ServerCall(environment, context),
        call_(std::move(call)),
        intake_(environment, call_.request_bytes(), load_),
        upload_(std::make_unique<DatasetUpload>(api, call_.info().caller.name)) {
    Read();
    Track({[this] { OnDrain(); }, nullptr});
  }

  void OnReadDone(bool ok) override {
    if (!steps_.Resume()) {
      return;
    }
    // A message is written to a file in a moment; the whole is parsed and stored for as long as it
    // takes.
    if (ok) {
      PostOrEnd(*environment_.io, [this] { TakeMessage(); });
    } else {
      PostOrEnd(*environment_.compute, [this] { Store(); });
    }
  }

 private:
  void Read() {
    if (!steps_.Wait([this] { StartRead(&bytes_); })) {
      End(DrainingError());
    }
  }

  // Not at once: the files are synced at the end, and the thread that drains has other calls to tell.
  void OnDrain() {
    if (steps_.Interrupt()) {
      PostOrEnd(*environment_.io, [this] { End(DrainingError()); });
    }
  }

  // What takes long to parse is parsed in the background, where no other call waits for it.
  void TakeMessage() {
    bool takes_long = false;
    const absl::Status status = RunSafely(call_.method(), [&] {
      takes_long = intake_.TakesLong(bytes_, message_);
      return takes_long ? absl::OkStatus() : intake_.Parse(bytes_, message_);
    });
    if (!status.ok()) {
      End(status);
    } else if (takes_long) {
      PostOrEnd(*environment_.intake, [this] { ParseMessage(); });
    } else {
      AddMessage();
    }
  }

  void ParseMessage() {
    const absl::Status status =
        RunSafely(call_.method(), [this] { return intake_.Parse(bytes_, message_); });
    if (status.ok()) {
      PostOrEnd(*environment_.io, [this] { AddMessage(); });
    } else {
      End(status);
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
      // The header is kept; see whole_message.h. What a large piece takes is no business of the reserve.
      const ScopedAllocations scope(message_.has_header() ? Allocations::kNeeded
                                                          : Allocations::kMayFail);
      return upload_->Add(message_);
    });
    if (status.ok() && upload_->finished() != nullptr) {
      response_ = std::move(*upload_->finished());
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
      MERCER_ASSIGN_OR_RETURN(response_, upload_->Finish(is_cancelled));
      return absl::OkStatus();
    }));
  }

  void Discard() override { intake_.Release(message_); }

  // Removes the files, or vouches for them, before the client hears of the end.
  void End(const absl::Status& status) override {
    upload_.reset();
    if (!response_.name().empty()) {
      subject_.resource = response_.name();
    }
    FinishWith(*this, response_, call_.End(status, subject_), bytes_);
  }

  CallRecord call_;
  RequestIntake intake_;
  std::unique_ptr<DatasetUpload> upload_;
  AuditSubject subject_;
  v1::UploadDatasetRequest message_;
  v1::Dataset response_;
  StreamSteps steps_;
};

class DatasetRpcs final : public RpcService {
 public:
  DatasetRpcs(const RpcEnvironment& environment, const ApiContext& context)
      : RpcService(environment), handlers_(context) {
    expiry_.Add([&context] { context.uploads->RemoveExpired(PolicyOfUploads(context)); });
    Open<UploadCall>("DatasetService/UploadDataset", context);
    Answer("DatasetService/GetDataset", handlers_, &DatasetHandlers::GetDataset);
    Answer("DatasetService/ListDatasets", handlers_, &DatasetHandlers::ListDatasets);
    Answer("DatasetService/UpdateDataset", handlers_, &DatasetHandlers::UpdateDataset);
    Answer("DatasetService/DeleteDataset", handlers_, &DatasetHandlers::DeleteDataset);
    Answer("DatasetService/GetUpload", handlers_, &DatasetHandlers::GetUpload);
    Answer("DatasetService/ListUploads", handlers_, &DatasetHandlers::ListUploads);
    Answer("DatasetService/DeleteUpload", handlers_, &DatasetHandlers::DeleteUpload);
  }

 private:
  DatasetHandlers handlers_;
  // A thread of its own, as heartbeats must not wait for the removal of large files. Last: it uses all above.
  Ticker expiry_{absl::Minutes(1)};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeDatasetService(const RpcEnvironment& environment,
                                                  const ApiContext& context) {
  return std::make_unique<DatasetRpcs>(environment, context);
}

}  // namespace mercer::server
