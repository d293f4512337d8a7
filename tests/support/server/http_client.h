// A client of HTTP/1.1 on one connection, by a library that shares nothing with the server's own code but its parser's author.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mercer {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpReply {
  int status = 0;  // 0: the connection ended before a whole answer had come
  HttpHeaders headers;
  std::string body;

  // Empty: there is none. Names have no case.
  std::string Find(std::string_view name) const;
};

struct HttpTls {
  std::string ca;           // PEM text of the authority
  std::string certificate;  // PEM text of the client's own; empty: none
  std::string key;
};

// The address of loopback that a client connects from: each is a host of its own.
struct HttpSource {
  std::string address;  // "127.0.0.2"
};

class HttpClient {
 public:
  // Connects to loopback.
  explicit HttpClient(int port);
  HttpClient(int port, const HttpSource& source);
  HttpClient(int port, const HttpTls& tls);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool connected() const;

  // Host and the length of the body are added.
  HttpReply Call(const std::string& method, const std::string& target,
                 const HttpHeaders& headers = {}, const std::string& body = "");
  HttpReply Get(const std::string& target, const HttpHeaders& headers = {}) {
    return Call("GET", target, headers);
  }
  // With the type of JSON.
  HttpReply Post(const std::string& target, const std::string& body, HttpHeaders headers = {});

  // Bytes as they are.
  bool SendText(const std::string& text);
  // No more bytes will be sent.
  void ShutDownSending();
  HttpReply Read();
  // Begins to read an answer without end. `reply` without body.
  HttpReply ReadHead();
  // Reads on until `enough` is satisfied with all of the body so far, or it ends; answers it.
  std::string ReadBodyUntil(const std::function<bool(const std::string& body)>& enough);
  // The connection has ended, after anything that came before.
  bool ReadToEnd();
  // The same; false when the end was not said: within TLS by its alert, else by TCP.
  bool EndsInOrder();
  void Close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mercer
