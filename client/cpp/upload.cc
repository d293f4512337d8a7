// Uploads in chunks, resumed where they broke off.
#include "client/cpp/upload.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <grpcpp/client_context.h>

#include "client/cpp/call_guard.h"
#include "client/cpp/channel.h"
#include "client/cpp/client.h"
#include "client/cpp/errors.h"
#include "client/cpp/sha256.h"
#include "core/base/encoding/crc32c.h"
#include "core/base/status/status_macros.h"

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
using Progress = std::function<void(int64_t)>;

// The place of a byte in an upload.
struct Position {
  int part = 0;
  int64_t offset = 0;
};

// An open upload.
struct UploadCall {
  UploadWriter& writer;
  CallGuard& guard;
  const Progress& on_progress;
  Position begin = {};     // bytes before it are there
  bool resumable = false;  // chunks say where they belong
  int64_t sent = 0;

  void Advance(size_t bytes) {
    sent += static_cast<int64_t>(bytes);
    if (on_progress) {
      on_progress(sent);
    }
  }
};

// Reads until the buffer is full or the source ends.
absl::StatusOr<size_t> Fill(ByteSource& source, std::string& buffer) {
  size_t filled = 0;
  while (filled < buffer.size()) {
    MERCER_ASSIGN_OR_RETURN(const size_t size,
                            source.Read(buffer.data() + filled, buffer.size() - filled));
    if (size == 0) {
      break;
    }
    filled += size;
  }
  return filled;
}

// Sends the bytes of one part that are not there. False when the server ended the call.
absl::StatusOr<bool> SendPart(UploadCall& call, int part, ByteSource& source) {
  std::string buffer(kChunkBytes, '\0');
  int64_t offset = 0;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const size_t size, Fill(source, buffer));
    if (size == 0) {
      return true;
    }
    const int64_t end = offset + static_cast<int64_t>(size);
    const bool is_there =
        part < call.begin.part || (part == call.begin.part && end <= call.begin.offset);
    if (!is_there) {
      v1::UploadDatasetRequest request;
      v1::UploadChunk& chunk = *request.mutable_chunk();
      chunk.set_part(part);
      // A chunk whose beginning is there is sent whole: the server compares.
      chunk.set_data(buffer.data(), size);
      if (call.resumable) {
        chunk.set_offset(offset);
        chunk.set_crc32c(Crc32c(chunk.data()));
      }
      if (!call.guard.Run([&] { return call.writer.Write(request); })) {
        return false;
      }
    }
    offset = end;
    call.Advance(size);
  }
}

struct UploadJob {
  v1::DatasetService::Stub& stub;
  const ClientOptions& options;
  const v1::UploadHeader& header;
  const std::vector<UploadSource>& parts;
  const Progress& on_progress;
};

// How long the server may need, besides, to read all bytes once they are there. One that is not given it begins to read anew
// at each attempt.
absl::Duration TimeToRead(const v1::UploadHeader& header) {
  constexpr int64_t kBytesPerSecond = int64_t{16} << 20;
  return absl::Seconds(header.total_bytes() / kBytesPerSecond);
}

// One stream, which sends what is behind `begin`; none: all, as an upload that cannot be resumed.
absl::StatusOr<v1::Dataset> Send(const UploadJob& job, std::optional<Position> begin) {
  // Before the call: what cannot be read is not begun.
  std::vector<std::unique_ptr<ByteSource>> sources;
  for (const UploadSource& part : job.parts) {
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source, part());
    sources.push_back(std::move(source));
  }
  grpc::ClientContext context;
  v1::Dataset dataset;
  const std::unique_ptr<UploadWriter> writer = job.stub.UploadDataset(&context, &dataset);
  CallGuard guard(context, job.options.stream_timeout);
  UploadCall call{*writer, guard, job.on_progress, begin.value_or(Position()), begin.has_value()};
  v1::UploadDatasetRequest first;
  *first.mutable_header() = job.header;
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
  const absl::Status status = guard.Explain(
      StatusOfCall(guard.Run([&] { return writer->Finish(); }, TimeToRead(job.header))));
  MERCER_RETURN_IF_ERROR(local);
  MERCER_RETURN_IF_ERROR(status);
  return dataset;
}

// Behind all bytes: the upload is finished, its header suffices.
constexpr Position kFinished{1 << 30, 0};

// Where the upload is. Errors: kUnimplemented, of a server that knows of no such thing.
absl::StatusOr<Position> FindPosition(const UploadJob& job) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + job.options.timeout));
  v1::GetUploadRequest request;
  request.set_name(absl::StrCat("uploads/", job.header.upload_id()));
  v1::Upload upload;
  const absl::Status status = StatusOfCall(job.stub.GetUpload(&context, request, &upload));
  // Who may upload need not be allowed to ask: what is there already is sent again, and the server compares.
  if (absl::IsNotFound(status) || absl::IsPermissionDenied(status)) {
    return Position();
  }
  MERCER_RETURN_IF_ERROR(status);
  return upload.dataset().empty() ? Position{upload.part(), upload.offset()} : kFinished;
}

// What another attempt may mend although its code is not UNAVAILABLE: a damaged chunk; a position that was outdated when
// the first chunk came; another client that uploads the same, which the delays set apart until one of them has finished;
// a stream that stalled although the server had said where the upload is.
absl::Status AsRetryable(const absl::Status& status, bool server_answers) {
  const std::string reason = ReadErrorReport(status).reason;
  const bool may_mend = reason == "CHUNK_CHECKSUM" || reason == "BAD_UPLOAD_OFFSET" ||
                        reason == "UPLOAD_TAKEN_OVER" ||
                        (server_answers && absl::IsDeadlineExceeded(status));
  return may_mend ? absl::UnavailableError(status.message()) : status;
}

absl::StatusOr<v1::Dataset> SendOnce(const UploadJob& job, std::optional<Position>& position) {
  MERCER_ASSIGN_OR_RETURN(position, FindPosition(job));
  return Send(job, position);
}

bool IsBehind(const Position& a, const Position& b) {
  return a.part != b.part ? a.part > b.part : a.offset > b.offset;
}

absl::StatusOr<v1::Dataset> SendResumable(const UploadJob& job, Backoff backoff) {
  Position furthest;
  while (true) {
    std::optional<Position> position;
    absl::StatusOr<v1::Dataset> dataset = SendOnce(job, position);
    if (dataset.ok() || absl::IsUnimplemented(dataset.status())) {
      return dataset;
    }
    if (position.has_value() && IsBehind(*position, furthest)) {
      furthest = *position;
      backoff.Reset();  // the attempt before got somewhere
    }
    const std::optional<absl::Duration> delay =
        backoff.Next(AsRetryable(dataset.status(), position.has_value()));
    if (!delay.has_value()) {
      return dataset;
    }
    job.options.sleep(*delay, std::stop_token());
  }
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

bool ShouldBeResumable(int64_t content_bytes, const v1::UploadHeader& header) {
  return content_bytes >= kResumableBytes && header.ByteSizeLong() <= kMaxResumableHeaderBytes;
}

absl::StatusOr<ContentDigest> DigestSources(const std::vector<UploadSource>& parts) {
  ContentDigest content;
  Sha256 hash;
  std::string buffer(kChunkBytes, '\0');
  for (const UploadSource& part : parts) {
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, part());
    size_t size = 0;
    do {
      MERCER_ASSIGN_OR_RETURN(size, Fill(*source, buffer));
      hash.Add(std::string_view(buffer).substr(0, size));
      content.bytes += static_cast<int64_t>(size);
    } while (size > 0);
  }
  content.sha256 = hash.Digest();
  return content;
}

void MakeResumable(const ContentDigest& content, v1::UploadHeader& header) {
  constexpr size_t kIdDigits = 40;
  header.set_sha256(content.sha256);
  header.set_total_bytes(content.bytes);
  v1::UploadHeader meaning = header;
  meaning.clear_request_id();
  meaning.clear_upload_id();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    meaning.SerializeToCodedStream(&coded);
  }
  Sha256 hash;
  hash.Add(bytes);
  header.set_upload_id(hash.Digest().substr(0, kIdDigits));
}

absl::StatusOr<v1::Dataset> Client::UploadDataset(v1::UploadHeader header,
                                                  const std::vector<UploadSource>& parts,
                                                  const std::function<void(int64_t)>& on_progress) {
  if (header.request_id().empty()) {
    header.set_request_id(NewRequestId());
  }
  if (header.upload_id().empty()) {
    MERCER_ASSIGN_OR_RETURN(const ContentDigest content, DigestSources(parts));
    if (ShouldBeResumable(content.bytes, header)) {
      header.set_upload_id(NewRequestId());
      header.set_sha256(content.sha256);
      header.set_total_bytes(content.bytes);
    }
  }
  if (!header.upload_id().empty()) {
    const UploadJob job{*stubs_->datasets, options_, header, parts, on_progress};
    absl::StatusOr<v1::Dataset> dataset = SendResumable(job, NewBackoff(options_.watch_retry));
    if (!absl::IsUnimplemented(dataset.status())) {
      return dataset;
    }
    header.clear_upload_id();  // an older server
    header.clear_total_bytes();
  }
  return CallWithRetries(NewBackoff(options_.retry), options_.sleep,
                         [&](int) { return TryUpload(header, parts, on_progress); });
}

absl::StatusOr<v1::Dataset> Client::TryUpload(const v1::UploadHeader& header,
                                              const std::vector<UploadSource>& parts,
                                              const std::function<void(int64_t)>& on_progress) {
  return Send({*stubs_->datasets, options_, header, parts, on_progress}, std::nullopt);
}

}  // namespace mercer::client
