#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "core/base/process/run_safely.h"
#include "core/base/status/status_macros.h"
#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/http_query.pb.h"
#include "server/gateway/calls.h"
#include "server/gateway/http/error_answer.h"
#include "server/gateway/http/url.h"
#include "server/gateway/rpc_messages.h"
#include "server/translation/whole_message.h"

namespace mercer::gateway {
namespace {

absl::Status SetTable(const v1::UploadDatasetQuery& query, v1::UploadHeader& header) {
  FieldViolations violations;
  if (query.format().empty() || query.format() == "csv") {
    v1::CsvFormat& csv = server::Choose(*header.add_parts(), &v1::UploadPart::mutable_csv);
    csv.set_delimiter(query.delimiter());
    if (!query.target().empty()) {
      server::PutAll(
          std::map<std::string, v1::ColumnRole>{{query.target(), v1::COLUMN_ROLE_TARGET}},
          *csv.mutable_roles());
    }
  } else if (query.format() == "svmlight") {
    server::Choose(*header.add_parts(), &v1::UploadPart::mutable_svmlight);
    violations.Check(query.target().empty(), "target", "is for csv: svmlight knows its target");
    violations.Check(query.delimiter().empty(), "delimiter", "is for csv");
  } else {
    violations.Add("format", "must be csv or svmlight; other formats take `header`");
  }
  return violations.ToStatus();
}

// For a header that says itself what comes.
absl::Status RefuseTable(const v1::UploadDatasetQuery& query) {
  constexpr char kSaidThere[] = "is for uploads without a part in `header`: say it there";
  FieldViolations violations;
  violations.Check(query.format().empty(), "format", kSaidThere);
  violations.Check(query.target().empty(), "target", kSaidThere);
  violations.Check(query.delimiter().empty(), "delimiter", kSaidThere);
  return violations.ToStatus();
}

absl::StatusOr<v1::UploadHeader> ParseHeader(const RequestHead& head) {
  MERCER_ASSIGN_OR_RETURN(const Parameters parameters, ParseQuery(QueryOf(head.target)));
  FieldViolations violations;
  v1::UploadDatasetQuery query;
  const Parameters fields = BindKnown(parameters, query, violations);
  v1::UploadHeader header;
  MERCER_RETURN_IF_ERROR(ReadJson(query.header(), header));
  BindParameters(fields, header, violations);
  violations.Check(header.upload_id().empty(), "uploadId",
                   "is for gRPC: an upload over HTTP cannot be resumed");
  violations.Check(header.parts_size() <= 1, "header", "must have one part");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  MERCER_RETURN_IF_ERROR(header.parts_size() == 0 ? SetTable(query, header) : RefuseTable(query));
  if (head.content_length.has_value() && header.total_bytes() == 0) {
    header.set_total_bytes(static_cast<int64_t>(*head.content_length));
  }
  return header;
}

// One body on its way to the server: a piece is read when the one before has been taken.
class UploadCall final : public RpcCall {
 public:
  using RpcCall::RpcCall;

  void Start(std::string_view method, const v1::UploadHeader& header) {
    Begin(method);
    CancelWhenGone();
    v1::UploadDatasetRequest first;
    server::Choose(first, &v1::UploadDatasetRequest::mutable_header) = header;
    Read();  // the answer, whenever it comes
    Write(ToBytes(first), /*last=*/false);
  }

 private:
  void OnAnswer(grpc::ByteBuffer answer) override {
    answer_ = std::move(answer);
    Read();  // the end
  }

  void OnWritten() override {
    exchange_->ReadSome([self = shared_from_this(), this](absl::StatusOr<std::string> bytes) {
      Take(std::move(bytes));
    });
  }

  void Take(absl::StatusOr<std::string> bytes) {
    if (!bytes.ok()) {
      {
        absl::MutexLock lock(&mutex_);
        failure_ = bytes.status();
      }
      Cancel();
    } else if (bytes->empty()) {
      WritesDone();
    } else {
      v1::UploadDatasetRequest next;
      server::Choose(next, &v1::UploadDatasetRequest::mutable_chunk).set_data(*std::move(bytes));
      Write(ToBytes(next), /*last=*/false);
    }
  }

  void OnEnd(const grpc::Status& status) override {
    absl::Status failure;
    {
      absl::MutexLock lock(&mutex_);
      failure = failure_;
    }
    exchange_->Send(failure.ok() ? AnswerOf(status) : BodyErrorAnswer(failure));
  }

  Answer AnswerOf(const grpc::Status& status) const {
    if (!status.ok()) {
      return ErrorAnswer(DetailsOf(status));
    }
    const absl::StatusOr<std::string> text =
        RunSafely("an answer of HTTP", [this]() -> absl::StatusOr<std::string> {
          v1::Dataset dataset;
          MERCER_RETURN_IF_ERROR(FromBytes(answer_, dataset));
          return WriteJson(dataset);
        });
    return text.ok() ? MakeAnswer(*text + "\n") : ErrorAnswer(text.status());
  }

  grpc::ByteBuffer answer_;  // of the callbacks of the call, which come one after the other
  absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // of the body
};

}  // namespace

void AnswerUpload(GatewayContext& context, std::shared_ptr<Exchange> exchange,
                  const RouteMatch& match) {
  const absl::StatusOr<v1::UploadHeader> header = ParseHeader(exchange->head());
  if (!header.ok()) {
    exchange->Send(ErrorAnswer(header.status()));
    return;
  }
  std::make_shared<UploadCall>(context.channel, std::move(exchange))
      ->Start(match.route->method, *header);
}

}  // namespace mercer::gateway
