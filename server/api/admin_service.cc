// AdminService over gRPC.
#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include <grpcpp/support/server_callback.h>

#include "core/base/errors.h"
#include "mercer/v1/admin_service.grpc.pb.h"
#include "server/api/dataset_upload.h"
#include "server/api/open_stream.h"
#include "server/api/services.h"
#include "server/backup/backup_archive.h"

namespace mercer::server {
namespace {

constexpr size_t kBackupChunkBytes = size_t{1} << 20;

// A copy of the database on the disk for each would fill it.
absl::Status BackupRunning() {
  return WithReason(
      absl::ResourceExhaustedError("a backup is under way already; wait for its end, or cancel it"),
      "BACKUP_RUNNING");
}

// Makes the archive on the I/O pool, one piece when the client has taken the one before: a slow client costs a file and
// pins, not memory. Deletes itself.
class BackupReactor final : public grpc::ServerWriteReactor<v1::BackupResponse> {
 public:
  BackupReactor(const RpcEnvironment& environment, const ApiContext& api, CallRecord call,
                grpc::CallbackServerContext* context, const v1::BackupRequest* request,
                std::shared_ptr<std::atomic<bool>> busy)
      : environment_(environment),
        api_(api),
        context_(context),
        request_(request),
        call_(std::move(call)),
        busy_(std::move(busy)),
        tracked_(*environment.calls, {nullptr, [this] { context_->TryCancel(); }}) {
    environment.io->Post([this] { Step(&BackupReactor::Begin); });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      End(absl::CancelledError("the client has gone"));
    } else if (environment_.calls->draining()) {
      End(DrainingError());
    } else {
      environment_.io->Post([this] { Step(&BackupReactor::FillChunk); });
    }
  }

  void OnDone() override { delete this; }

 private:
  void Step(absl::Status (BackupReactor::*fill)()) {
    const absl::Status status = RunSafely(call_.method(), [&] { return (this->*fill)(); });
    if (!status.ok() || response_.chunk().empty()) {
      End(status);
    } else {
      StartWrite(&response_);
    }
  }

  absl::Status Begin() {
    MERCER_RETURN_IF_ERROR(call_.Check(*context_, *request_));
    if (environment_.calls->draining()) {
      return DrainingError();
    }
    if (busy_->exchange(true)) {
      return BackupRunning();
    }
    holds_busy_ = true;
    MERCER_RETURN_IF_ERROR(CheckDiskRoom(api_, api_.storage->SnapshotBytes()));
    BackupSources sources;
    sources.storage = api_.storage;
    sources.blobs = api_.blobs;
    sources.code_version = api_.code_version;
    sources.database_copy = absl::StrCat(api_.backup_folder, "/", RandomId(16), ".db");
    const auto is_cancelled = [this] {
      return context_->IsCancelled() || environment_.calls->draining();
    };
    absl::StatusOr<std::unique_ptr<BackupArchive>> archive =
        BackupArchive::Begin(sources, is_cancelled);
    if (absl::IsCancelled(archive.status()) && environment_.calls->draining()) {
      return DrainingError();
    }
    MERCER_ASSIGN_OR_RETURN(archive_, std::move(archive));
    return FillChunk();
  }

  absl::Status FillChunk() {
    MERCER_ASSIGN_OR_RETURN(*response_.mutable_chunk(), archive_->Next(kBackupChunkBytes));
    return absl::OkStatus();
  }

  // Frees everything before the client hears of the end.
  void End(const absl::Status& status) {
    archive_.reset();
    if (std::exchange(holds_busy_, false)) {
      busy_->store(false);
    }
    Finish(call_.End(status));
  }

  const RpcEnvironment& environment_;
  const ApiContext& api_;
  grpc::CallbackServerContext* context_;
  const v1::BackupRequest* request_;
  CallRecord call_;
  const std::shared_ptr<std::atomic<bool>> busy_;  // a backup is under way
  bool holds_busy_ = false;                        // and it is this one
  std::unique_ptr<BackupArchive> archive_;
  v1::BackupResponse response_;
  TrackedCall tracked_;
};

class AdminServiceImpl final : public v1::AdminService::CallbackService {
 public:
  AdminServiceImpl(const RpcEnvironment& environment, const ApiContext& context)
      : environment_(environment), context_(context) {}

  grpc::ServerWriteReactor<v1::BackupResponse>* Backup(grpc::CallbackServerContext* context,
                                                       const v1::BackupRequest* request) override {
    return OpenStream<grpc::ServerWriteReactor<v1::BackupResponse>>(
        environment_, context, "AdminService/Backup", [&](CallRecord call) {
          return new BackupReactor(environment_, context_, std::move(call), context, request,
                                   busy_);
        });
  }

 private:
  const RpcEnvironment& environment_;
  const ApiContext& context_;
  const std::shared_ptr<std::atomic<bool>> busy_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(const RpcEnvironment& environment,
                                                const ApiContext& context) {
  return std::make_unique<AdminServiceImpl>(environment, context);
}

}  // namespace mercer::server
