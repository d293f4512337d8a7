// The library's parser asserts that a last chunk has come with five bytes at least, where three will do: input must abort no
// build. Everything else that it asserts it has checked before.
#define BOOST_DISABLE_ASSERTS

#include "server/gateway/http/request_parser.h"

#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace mercer::gateway {

namespace http = boost::beast::http;
using boost::beast::error_code;
using BeastView = boost::beast::string_view;

// Of the head of a chunk, with its extensions, and of the fields behind the last one.
constexpr size_t kMaxUnparsedBytes = size_t{16} << 10;

// The library's parser, which tells of each part as it comes.
class RequestParser::Impl final : public http::basic_parser<true> {
 public:
  explicit Impl(size_t max_head_bytes) {
    header_limit(static_cast<std::uint32_t>(max_head_bytes));
    body_limit(std::numeric_limits<std::uint64_t>::max());  // whoever takes the body counts it
  }

  size_t Take(std::string_view bytes) {
    if (error_status_ != 0 || is_done() || bytes.empty()) {
      return 0;
    }
    const bool in_head = !is_header_done();
    eager(!in_head);
    error_code error;
    const size_t taken = put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    if (error == http::error::need_more) {
      const bool is_endless = !in_head && bytes.size() - taken > kMaxUnparsedBytes;
      error_status_ = is_endless ? 400 : 0;
    } else if (error) {
      error_status_ = StatusOf(error);
    } else if (in_head) {
      CheckTransferCoding();
    }
    return taken;
  }

  RequestHead head_;
  std::string body_;
  int error_status_ = 0;

 protected:
  void on_request_impl(http::verb, BeastView method, BeastView target, int version,
                       error_code&) override {
    head_.method.assign(method.data(), method.size());
    head_.target.assign(target.data(), target.size());
    head_.http10 = version == 10;
  }
  void on_response_impl(int, BeastView, int, error_code&) override {}
  void on_field_impl(http::field, BeastView name, BeastView value, error_code&) override {
    head_.headers.emplace_back(absl::AsciiStrToLower(absl::string_view(name.data(), name.size())),
                               std::string(value.data(), value.size()));
  }
  void on_header_impl(error_code&) override {
    head_.keep_alive = keep_alive();
    if (const auto length = content_length(); length.has_value()) {
      head_.content_length = *length;
    }
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(BeastView bytes, error_code&) override {
    body_.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, BeastView, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, error_code&) override {
    body_.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(error_code&) override {}

 private:
  // The library takes a coding that it does not know for no body at all; what follows would be the next request, which another
  // program on the way may have taken for a body (RFC 9112, 6.1).
  void CheckTransferCoding() {
    const std::vector<std::string_view> codings = head_.FindAll("transfer-encoding");
    const bool is_known =
        codings.empty() ||
        (codings.size() == 1 &&
         boost::beast::iequals(BeastView(codings[0].data(), codings[0].size()), "chunked"));
    if (!is_known) {
      error_status_ = 501;
    } else if (!codings.empty() && head_.http10) {
      error_status_ = 400;  // HTTP/1.0 has no codings
    }
  }

  static int StatusOf(const error_code& error) {
    if (error == http::error::header_limit) {
      return 431;
    }
    if (error == http::error::bad_version) {
      return 505;
    }
    return error == http::error::bad_transfer_encoding ? 501 : 400;
  }
};

RequestParser::RequestParser(size_t max_head_bytes)
    : impl_(std::make_unique<Impl>(max_head_bytes)) {}
RequestParser::~RequestParser() = default;

size_t RequestParser::Put(std::string_view bytes) { return impl_->Take(bytes); }
int RequestParser::error_status() const { return impl_->error_status_; }
bool RequestParser::head_done() const {
  return impl_->error_status_ == 0 && impl_->is_header_done();
}
bool RequestParser::done() const { return impl_->error_status_ == 0 && impl_->is_done(); }
RequestHead RequestParser::TakeHead() { return std::move(impl_->head_); }
std::string RequestParser::TakeBody() { return std::exchange(impl_->body_, std::string()); }

}  // namespace mercer::gateway
