#include "tests/support/server/http_client.h"

#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace mercer {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Parser = http::response_parser<http::string_body>;

HttpReply ReplyOf(const http::response<http::string_body>& response) {
  HttpReply reply;
  reply.status = static_cast<int>(response.result_int());
  for (const auto& field : response) {
    reply.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  reply.body = response.body();
  return reply;
}

}  // namespace

std::string HttpReply::Find(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase(key, absl::string_view(name.data(), name.size()))) {
      return value;
    }
  }
  return "";
}

class HttpClient::Impl {
 public:
  explicit Impl(int port) : socket_(io_) { Connect(port); }
  Impl(int port, const HttpSource& source) : socket_(io_) {
    socket_.open(tcp::v4(), error_);
    socket_.bind({asio::ip::make_address(source.address), 0}, error_);
    Connect(port);
  }
  Impl(int port, const HttpTls& tls) : socket_(io_) {
    Connect(port);
    context_.emplace(asio::ssl::context::tls_client);
    context_->add_certificate_authority(asio::buffer(tls.ca), error_);
    context_->set_verify_mode(asio::ssl::verify_peer, error_);
    if (!tls.certificate.empty()) {
      context_->use_certificate_chain(asio::buffer(tls.certificate), error_);
      context_->use_private_key(asio::buffer(tls.key), asio::ssl::context::pem, error_);
    }
    tls_.emplace(socket_, *context_);
    tls_->handshake(asio::ssl::stream_base::client, error_);
  }

  bool Send(const std::string& text) {
    if (tls_.has_value()) {
      asio::write(*tls_, asio::buffer(text), error_);
    } else {
      asio::write(socket_, asio::buffer(text), error_);
    }
    return !error_;
  }

  HttpReply Read(bool head_request) {
    Parser parser;
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    parser.skip(head_request);
    error_code error;
    WithStream([&](auto& stream) { http::read(stream, buffer_, parser, error); });
    return error ? HttpReply() : ReplyOf(parser.get());
  }

  HttpReply ReadHead() {
    parser_.emplace();
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    error_code error;
    WithStream([&](auto& stream) { http::read_header(stream, buffer_, *parser_, error); });
    return error ? HttpReply() : ReplyOf(parser_->get());
  }

  std::string ReadBodyUntil(const std::function<bool(const std::string&)>& enough) {
    error_code error;
    while (!error && !parser_->is_done() && !enough(parser_->get().body())) {
      WithStream([&](auto& stream) { http::read_some(stream, buffer_, *parser_, error); });
    }
    return parser_->get().body();
  }

  // How it has ended.
  error_code ReadToEnd() {
    error_code error;
    std::string piece(4096, '\0');
    while (!error) {
      WithStream([&](auto& stream) { stream.read_some(asio::buffer(piece), error); });
    }
    return error;
  }

  tcp::socket& socket() { return socket_; }
  bool connected() const { return !error_; }

 private:
  void Connect(int port) {
    socket_.connect({asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)}, error_);
  }

  template <typename Use>
  void WithStream(const Use& use) {
    if (tls_.has_value()) {
      use(*tls_);
    } else {
      use(socket_);
    }
  }

  asio::io_context io_;
  error_code error_;
  tcp::socket socket_;
  std::optional<asio::ssl::context> context_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
};

HttpClient::HttpClient(int port) : impl_(std::make_unique<Impl>(port)) {}
HttpClient::HttpClient(int port, const HttpSource& source)
    : impl_(std::make_unique<Impl>(port, source)) {}
HttpClient::HttpClient(int port, const HttpTls& tls) : impl_(std::make_unique<Impl>(port, tls)) {}
HttpClient::~HttpClient() = default;

bool HttpClient::connected() const { return impl_->connected(); }

HttpReply HttpClient::Call(const std::string& method, const std::string& target,
                           const HttpHeaders& headers, const std::string& body) {
  std::string text = absl::StrCat(method, " ", target, " HTTP/1.1\r\n");
  bool has_host = false;
  for (const auto& [name, value] : headers) {
    has_host = has_host || absl::EqualsIgnoreCase(name, "host");
    absl::StrAppend(&text, name, ": ", value, "\r\n");
  }
  if (!has_host) {
    absl::StrAppend(&text, "Host: localhost\r\n");
  }
  if (!body.empty() || method != "GET") {
    absl::StrAppend(&text, "Content-Length: ", body.size(), "\r\n");
  }
  absl::StrAppend(&text, "\r\n", body);
  impl_->Send(text);  // an answer may come before all is sent
  return impl_->Read(method == "HEAD");
}

HttpReply HttpClient::Post(const std::string& target, const std::string& body,
                           HttpHeaders headers) {
  headers.emplace_back("Content-Type", "application/json");
  return Call("POST", target, headers, body);
}

bool HttpClient::SendText(const std::string& text) { return impl_->Send(text); }
void HttpClient::ShutDownSending() {
  error_code ignored;
  impl_->socket().shutdown(tcp::socket::shutdown_send, ignored);
}
HttpReply HttpClient::Read() { return impl_->Read(/*head_request=*/false); }
HttpReply HttpClient::ReadHead() { return impl_->ReadHead(); }
std::string HttpClient::ReadBodyUntil(const std::function<bool(const std::string&)>& enough) {
  return impl_->ReadBodyUntil(enough);
}
bool HttpClient::ReadToEnd() { return impl_->ReadToEnd().failed(); }
bool HttpClient::EndsInOrder() { return impl_->ReadToEnd() == asio::error::eof; }
void HttpClient::Close() {
  error_code ignored;
  impl_->socket().close(ignored);
}

}  // namespace mercer
