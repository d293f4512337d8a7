// AdminService and ServerService over gRPC.
#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "mercer/v1/admin_service.pb.h"
#include "mercer/v1/server_service.pb.h"
#include "server/api/services.h"
#include "server/backup/backup_archive.h"
#include "server/rpc/rpc_service.h"
#include "server/storage/new_id.h"
#include "server/uploads/dataset_upload.h"

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
class BackupCall final : public RequestCall {
 public:
  BackupCall(const RpcEnvironment& environment, const ApiContext& api, std::atomic<bool>& busy,
             CallRecord call, grpc::CallbackServerContext* context)
      : RequestCall(environment, std::move(call), context, request_), api_(api), busy_(busy) {}

  void OnWriteDone(bool ok) override {
    if (!ok) {
      End(absl::CancelledError("the client has gone"));
    } else if (environment_.calls->draining()) {
      End(DrainingError());
    } else {
      PostOrEnd(*environment_.io, [this] { Step(&BackupCall::FillChunk); });
    }
  }

 private:
  void Begin() override {
    PostOrEnd(*environment_.io, [this] { Step(&BackupCall::Open); });
  }
  void EndForDrain() override {}  // the next piece that is sent does
  void CancelForDrain() override { context_->TryCancel(); }

  void Step(absl::Status (BackupCall::*fill)()) {
    const absl::Status status = RunSafely(call_.method(), [&]() -> absl::Status {
      MERCER_RETURN_IF_ERROR((this->*fill)());
      bytes_ = BytesOf(response_);
      return absl::OkStatus();
    });
    if (!status.ok() || response_.chunk().empty()) {
      End(status);
    } else {
      StartWrite(&bytes_);
    }
  }

  absl::Status Open() {
    MERCER_RETURN_IF_ERROR(call_.Check(*context_, request_));
    if (environment_.calls->draining()) {
      return DrainingError();
    }
    if (busy_.exchange(true)) {
      return BackupRunning();
    }
    holds_busy_ = true;
    MERCER_RETURN_IF_ERROR(CheckDiskRoom(api_, api_.storage->SnapshotBytes()));
    BackupSources sources;
    sources.storage = api_.storage;
    sources.blobs = api_.blobs;
    sources.code_version = api_.about.code_version();
    sources.database_copy = absl::StrCat(api_.backup_folder, "/", NewId(), ".db");
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
  void End(const absl::Status& status) override {
    archive_.reset();
    if (std::exchange(holds_busy_, false)) {
      busy_.store(false);
    }
    RequestCall::End(status);
  }

  const ApiContext& api_;
  v1::BackupRequest request_;
  std::atomic<bool>& busy_;  // a backup is under way
  bool holds_busy_ = false;  // and it is this one
  std::unique_ptr<BackupArchive> archive_;
  v1::BackupResponse response_;
};

class AdminRpcs final : public RpcService {
 public:
  AdminRpcs(const RpcEnvironment& environment, const ApiContext& context)
      : RpcService(environment) {
    Open<BackupCall>("AdminService/Backup", context, busy_);
  }

 private:
  std::atomic<bool> busy_{false};
};

class ServerRpcs final : public RpcService {
 public:
  ServerRpcs(const RpcEnvironment& environment, const ApiContext& context)
      : RpcService(environment) {
    Unary<v1::GetServerInfoRequest>("ServerService/GetServerInfo", *environment.io,
                                    [&context](const auto&) { return InfoOf(context); });
  }

 private:
  static absl::StatusOr<v1::ServerInfo> InfoOf(const ApiContext& context) {
    v1::ServerInfo info = context.about;
    v1::ServerLimits& limits = *info.mutable_limits();
    limits.set_message_bytes(context.limits.message_bytes);
    limits.set_dataset_bytes(context.limits.dataset_bytes.Get());
    limits.set_stored_bytes(context.limits.stored_bytes.Get());
    limits.set_upload_space_bytes(context.limits.upload_space_bytes.Get());
    limits.set_upload_space_per_caller_bytes(context.limits.caller_upload_bytes.Get());
    return info;
  }
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdminService(const RpcEnvironment& environment,
                                                const ApiContext& context) {
  return std::make_unique<AdminRpcs>(environment, context);
}

std::unique_ptr<grpc::Service> MakeServerService(const RpcEnvironment& environment,
                                                 const ApiContext& context) {
  return std::make_unique<ServerRpcs>(environment, context);
}

}  // namespace mercer::server
