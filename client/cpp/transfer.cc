// Downloads, in pieces.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <grpcpp/client_context.h>

#include "client/cpp/call_guard.h"
#include "client/cpp/channel.h"
#include "client/cpp/client.h"
#include "client/cpp/errors.h"
#include "client/cpp/output_file.h"
#include "client/cpp/retry.h"
#include "client/cpp/sha256.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

// What a pipe or a device has got cannot be taken back: another attempt would write it twice.
absl::Status UnlessWritten(const absl::Status& status, const OutputFile& file, int64_t written) {
  return written > 0 && file.in_place() && IsWorthAnother(status)
             ? absl::DataLossError(
                   absl::StrCat("broken off after ", written, " bytes: ", status.message()))
             : status;
}

absl::Status WriteChunks(grpc::ClientReader<v1::ExportModelResponse>& reader, CallGuard& guard,
                         OutputFile& file, v1::ExportHeader& header) {
  v1::ExportModelResponse response;
  int64_t written = 0;
  Sha256 sha256;
  while (guard.Run([&] { return reader.Read(&response); })) {
    if (response.has_header()) {
      header = response.header();
    } else {
      file.stream().write(response.chunk().data(),
                          static_cast<std::streamsize>(response.chunk().size()));
      written += static_cast<int64_t>(response.chunk().size());
      sha256.Add(response.chunk());
    }
  }
  const absl::Status end = guard.Explain(StatusOfCall(reader.Finish()));
  MERCER_RETURN_IF_ERROR(UnlessWritten(end, file, written));
  if (written != header.size_bytes()) {
    return absl::DataLossError(
        absl::StrCat("received ", written, " of ", header.size_bytes(), " bytes"));
  }
  const std::string digest = sha256.Digest();
  if (digest != header.digest()) {
    return absl::DataLossError(absl::StrCat("the received bytes have the SHA-256 ", digest,
                                            ", those of the server ", header.digest()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ExportHeader> Client::ExportModel(const std::string& name,
                                                     const std::string& path,
                                                     const std::stop_token& stop) {
  return CallWithRetries(NewBackoff(options_.retry), options_.sleep,
                         [&](int) { return TryExport(name, path, stop); });
}

absl::StatusOr<v1::ExportHeader> Client::TryExport(const std::string& name, const std::string& path,
                                                   const std::stop_token& stop) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::Create(path));
  grpc::ClientContext context;
  v1::ExportModelRequest request;
  request.set_name(name);
  const auto reader = stubs_->models->ExportModel(&context, request);
  CallGuard guard(context, options_.stream_timeout, stop);
  v1::ExportHeader header;
  MERCER_RETURN_IF_ERROR(WriteChunks(*reader, guard, *file, header));
  MERCER_RETURN_IF_ERROR(file->Commit());
  return header;
}

absl::StatusOr<int64_t> Client::Backup(const std::string& path, const std::stop_token& stop) {
  return CallWithRetries(NewBackoff(options_.retry), options_.sleep,
                         [&](int) { return TryBackup(path, stop); });
}

absl::StatusOr<int64_t> Client::TryBackup(const std::string& path, const std::stop_token& stop) {
  // It holds everything, whoever may read it on the server.
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file,
                          OutputFile::Create(path, OutputFile::kOwnerOnly));
  grpc::ClientContext context;
  const auto reader = stubs_->admin->Backup(&context, v1::BackupRequest());
  CallGuard guard(context, options_.stream_timeout, stop);
  v1::BackupResponse response;
  int64_t bytes = 0;
  while (file->stream().good() && guard.Run([&] { return reader->Read(&response); })) {
    file->stream().write(response.chunk().data(),
                         static_cast<std::streamsize>(response.chunk().size()));
    bytes += static_cast<int64_t>(response.chunk().size());
  }
  if (!file->stream().good()) {
    context.TryCancel();  // nobody wants the rest of what cannot be written
    reader->Finish();
    return file->Commit();
  }
  const absl::Status end = guard.Explain(StatusOfCall(reader->Finish()));
  MERCER_RETURN_IF_ERROR(UnlessWritten(end, *file, bytes));
  MERCER_RETURN_IF_ERROR(file->Sync());
  MERCER_RETURN_IF_ERROR(file->Commit());
  return bytes;
}

}  // namespace mercer::client
