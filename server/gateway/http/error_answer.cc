#include "server/gateway/http/error_answer.h"

#include <array>

#include "absl/strings/str_cat.h"
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "core/base/status/errors.h"
#include "google/rpc/code.pb.h"
#include "google/rpc/error_details.pb.h"
#include "server/translation/error_details.h"

namespace mercer::gateway {
namespace {

namespace json = google::protobuf::util;

// As JSON of its own kind; one that cannot be written is left out.
std::string DetailJson(const google::protobuf::Any& detail) {
  std::string text;
  return json::MessageToJsonString(detail, &text).ok() ? text : std::string();
}

int64_t RetrySecondsOf(const google::rpc::Status& status) {
  google::rpc::RetryInfo retry;
  for (const google::protobuf::Any& detail : status.details()) {
    if (detail.UnpackTo(&retry)) {
      return retry.retry_delay().seconds();
    }
  }
  return 0;
}

Answer AnswerWith(const google::rpc::Status& status, int http_status) {
  Answer answer = MakeAnswer(absl::StrCat("{\"error\":", ErrorJson(status, http_status), "}\n"),
                             "application/json", http_status);
  if (const int64_t seconds = RetrySecondsOf(status); seconds > 0) {
    answer.headers.emplace_back("Retry-After", absl::StrCat(seconds));
  }
  if (http_status == 401) {
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  return answer;
}

}  // namespace

std::string JsonText(const std::string& text) {
  google::protobuf::Value value;
  value.set_string_value(text);
  std::string printed;
  return json::MessageToJsonString(value, &printed).ok() ? printed : "\"\"";
}

int HttpStatusOf(int code) {
  // In the order of google.rpc.Code.
  static constexpr std::array kStatuses = {200, 499, 500, 400, 504, 404, 409, 403, 429,
                                           400, 409, 400, 501, 500, 503, 500, 401};
  return code >= 0 && static_cast<size_t>(code) < kStatuses.size()
             ? kStatuses[static_cast<size_t>(code)]
             : 500;
}

std::string ErrorJson(const google::rpc::Status& status, int http_status) {
  const std::string name =
      google::rpc::Code_IsValid(status.code())
          ? google::rpc::Code_Name(static_cast<google::rpc::Code>(status.code()))
          : "UNKNOWN";
  std::string text = absl::StrCat("{\"code\":", http_status, ",\"status\":\"", name,
                                  "\",\"message\":", JsonText(status.message()), ",\"details\":[");
  const char* separator = "";
  for (const google::protobuf::Any& detail : status.details()) {
    if (const std::string one = DetailJson(detail); !one.empty()) {
      absl::StrAppend(&text, separator, one);
      separator = ",";
    }
  }
  absl::StrAppend(&text, "]}");
  return text;
}

Answer ErrorAnswer(const google::rpc::Status& status) {
  return AnswerWith(status, HttpStatusOf(status.code()));
}

Answer ErrorAnswer(const absl::Status& status, int http_status, bool close) {
  const google::rpc::Status details = server::ToRpcStatus(status);
  Answer answer =
      AnswerWith(details, http_status == 0 ? HttpStatusOf(details.code()) : http_status);
  answer.close = close;
  return answer;
}

Answer BodyErrorAnswer(const absl::Status& status) {
  const std::string reason = GetReason(status);
  const int http_status = reason == "BODY_TOO_LARGE" ? 413 : reason == "REQUEST_TOO_SLOW" ? 408 : 0;
  return ErrorAnswer(status, http_status, /*close=*/true);
}

Answer BadRequestAnswer(int http_status) {
  absl::Status status =
      WithReason(absl::InvalidArgumentError("this is not a request of HTTP/1.1"), "BAD_HTTP");
  if (http_status == 408) {
    status =
        WithReason(absl::DeadlineExceededError("the request came too slowly"), "REQUEST_TOO_SLOW");
  } else if (http_status == 431) {
    status = WithReason(absl::InvalidArgumentError("the head of the request is too large"),
                        "HEAD_TOO_LARGE");
  } else if (http_status == 501) {
    status = WithReason(
        absl::InvalidArgumentError("the only transfer coding that is understood is 'chunked'"),
        "BAD_HTTP");
  }
  return ErrorAnswer(status, http_status, /*close=*/true);
}

Answer InternalErrorAnswer() {
  return ErrorAnswer(absl::InternalError("an exchange was dropped without an answer"), 0,
                     /*close=*/true);
}

}  // namespace mercer::gateway
