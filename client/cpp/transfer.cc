// Uploads and downloads, in pieces.
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <grpcpp/client_context.h>

#include "client/cpp/call_guard.h"
#include "client/cpp/channel.h"
#include "client/cpp/client.h"
#include "client/cpp/errors.h"
#include "client/cpp/output_file.h"
#include "client/cpp/sha256.h"
#include "core/base/status_macros.h"

namespace mercer::client {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

// Reads bytes that it shares with other sources.
class SharedSource : public ByteSource {
 public:
  explicit SharedSource(std::shared_ptr<const std::string> bytes) : bytes_(std::move(bytes)) {}

  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    const size_t size = bytes_->copy(buffer, capacity, position_);
    position_ += size;
    return size;
  }

 private:
  std::shared_ptr<const std::string> bytes_;
  size_t position_ = 0;
};

using UploadWriter = grpc::ClientWriter<v1::UploadDatasetRequest>;

// An open upload.
struct UploadCall {
  UploadWriter& writer;
  CallGuard& guard;
  const std::function<void(int64_t)>& on_progress;
  int64_t sent = 0;
};

// Sends all bytes of one part. False when the server ended the call.
absl::StatusOr<bool> SendPart(UploadCall& call, int part, ByteSource& source) {
  std::string buffer(kChunkBytes, '\0');
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const size_t size, source.Read(buffer.data(), buffer.size()));
    if (size == 0) {
      return true;
    }
    v1::UploadDatasetRequest request;
    request.mutable_chunk()->set_part(part);
    request.mutable_chunk()->set_data(buffer.data(), size);
    if (!call.guard.Run([&] { return call.writer.Write(request); })) {
      return false;
    }
    call.sent += static_cast<int64_t>(size);
    if (call.on_progress) {
      call.on_progress(call.sent);
    }
  }
}

absl::Status WriteChunks(grpc::ClientReader<v1::ExportModelResponse>& reader, CallGuard& guard,
                         std::ostream& file, v1::ExportHeader& header) {
  v1::ExportModelResponse response;
  int64_t written = 0;
  Sha256 sha256;
  while (guard.Run([&] { return reader.Read(&response); })) {
    if (response.has_header()) {
      header = response.header();
    } else {
      file.write(response.chunk().data(), static_cast<std::streamsize>(response.chunk().size()));
      written += static_cast<int64_t>(response.chunk().size());
      sha256.Add(response.chunk());
    }
  }
  MERCER_RETURN_IF_ERROR(guard.Explain(ToAbslStatus(reader.Finish())));
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

UploadSource FileSource(std::string path) {
  return [path = std::move(path)] { return OpenFileSource(path); };
}

UploadSource MemorySource(std::string bytes) {
  auto shared = std::make_shared<const std::string>(std::move(bytes));
  return [shared = std::move(shared)]() -> absl::StatusOr<std::unique_ptr<ByteSource>> {
    return std::make_unique<SharedSource>(shared);
  };
}

absl::StatusOr<v1::Dataset> Client::UploadDataset(v1::UploadHeader header,
                                                  const std::vector<UploadSource>& parts,
                                                  const std::function<void(int64_t)>& on_progress) {
  if (header.request_id().empty()) {
    header.set_request_id(NewRequestId());
  }
  return CallWithRetries(NewBackoff(options_.retry), options_.sleep,
                         [&](int) { return TryUpload(header, parts, on_progress); });
}

absl::StatusOr<v1::Dataset> Client::TryUpload(const v1::UploadHeader& header,
                                              const std::vector<UploadSource>& parts,
                                              const std::function<void(int64_t)>& on_progress) {
  std::vector<std::unique_ptr<ByteSource>>
      sources;  // before the call: what cannot be read is not begun
  for (const UploadSource& part : parts) {
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, part());
    sources.push_back(std::move(source));
  }
  grpc::ClientContext context;
  v1::Dataset dataset;
  const std::unique_ptr<UploadWriter> writer = stubs_->datasets->UploadDataset(&context, &dataset);
  CallGuard guard(context, options_.stream_timeout);
  UploadCall call{*writer, guard, on_progress};
  v1::UploadDatasetRequest first;
  *first.mutable_header() = header;
  bool open = guard.Run([&] { return writer->Write(first); });
  absl::Status local;
  for (size_t i = 0; open && local.ok() && i < sources.size(); ++i) {
    const absl::StatusOr<bool> done = SendPart(call, static_cast<int>(i), *sources[i]);
    local = done.status();
    open = done.value_or(false);
  }
  if (local.ok()) {
    guard.Run([&] { return writer->WritesDone(); });
  } else {
    context.TryCancel();
  }
  const absl::Status status =
      guard.Explain(ToAbslStatus(guard.Run([&] { return writer->Finish(); })));
  MERCER_RETURN_IF_ERROR(local);
  MERCER_RETURN_IF_ERROR(status);
  return dataset;
}

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
  MERCER_RETURN_IF_ERROR(WriteChunks(*reader, guard, file->stream(), header));
  MERCER_RETURN_IF_ERROR(file->Commit());
  return header;
}

absl::StatusOr<int64_t> Client::Backup(const std::string& path, const std::stop_token& stop) {
  return CallWithRetries(NewBackoff(options_.retry), options_.sleep,
                         [&](int) { return TryBackup(path, stop); });
}

absl::StatusOr<int64_t> Client::TryBackup(const std::string& path, const std::stop_token& stop) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::Create(path));
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
  MERCER_RETURN_IF_ERROR(guard.Explain(ToAbslStatus(reader->Finish())));
  MERCER_RETURN_IF_ERROR(file->Sync());
  MERCER_RETURN_IF_ERROR(file->Commit());
  return bytes;
}

}  // namespace mercer::client
