#include "server/gateway/http/exchange.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer::gateway {
namespace {

absl::Status BodyTooLarge(size_t max_bytes) {
  return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                        "the body of the request has more than ", max_bytes, " bytes")),
                    "BODY_TOO_LARGE", {{"limit_bytes", absl::StrCat(max_bytes)}});
}

// One reading of a body, which keeps itself until the end.
class BodyReading final : public std::enable_shared_from_this<BodyReading> {
 public:
  BodyReading(std::shared_ptr<Exchange> exchange, size_t max_bytes, BodyShare& share,
              Exchange::Bytes done)
      : exchange_(std::move(exchange)),
        max_bytes_(max_bytes),
        share_(share),
        done_(std::move(done)) {}

  void Next() {
    exchange_->ReadSome([self = shared_from_this()](absl::StatusOr<std::string> bytes) {
      self->Take(std::move(bytes));
    });
  }

 private:
  void Take(absl::StatusOr<std::string> bytes) {
    if (!bytes.ok()) {
      done_(bytes.status());
    } else if (bytes->empty()) {
      done_(std::move(body_));
    } else if (bytes->size() > max_bytes_ - body_.size()) {
      done_(BodyTooLarge(max_bytes_));
    } else if (const absl::Status grown = share_.Grow(bytes->size()); !grown.ok()) {
      done_(grown);
    } else {
      body_.empty() ? body_ = *std::move(bytes) : body_ += *bytes;
      Next();
    }
  }

  const std::shared_ptr<Exchange> exchange_;
  const size_t max_bytes_;
  BodyShare& share_;
  const Exchange::Bytes done_;
  std::string body_;
};

}  // namespace

absl::Status TooManyBodies() {
  return WithReason(absl::UnavailableError(
                        "the server holds as many bodies of requests as it takes; try again soon"),
                    "TOO_MANY_BODIES");
}

absl::Status BodyShare::Grow(size_t bytes) {
  return share_.Grow(static_cast<int64_t>(bytes), limits_).has_value() ? TooManyBodies()
                                                                       : absl::OkStatus();
}

void ReadBody(const std::shared_ptr<Exchange>& exchange, size_t max_bytes, BodyShare& share,
              Exchange::Bytes done) {
  if (exchange->head().content_length.value_or(0) > max_bytes) {
    done(BodyTooLarge(max_bytes));
    return;
  }
  std::make_shared<BodyReading>(exchange, max_bytes, share, std::move(done))->Next();
}

}  // namespace mercer::gateway
