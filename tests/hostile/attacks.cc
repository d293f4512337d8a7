#include "tests/hostile/attacks.h"

#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "tests/hostile/http2_client.h"
#include "tests/support/server/http_client.h"
#include "tests/support/server/raw_call.h"

namespace mercer::server {
namespace {

using Over = std::atomic<bool>;

constexpr char kTrain[] = "/mercer.v1.TrainingService/Train";
constexpr char kGetJob[] = "/mercer.v1.TrainingService/GetJob";
const HttpSource kAttacker = {"127.0.0.2"};

Headers TokenOf(const HostileServer& server) {
  return {{"authorization", absl::StrCat("Bearer ", server.token())}};
}

// Sends bytes(0), bytes(1), ... on a connection, and begins anew on another one when it is ended.
void FloodHttp2(const HostileServer& server, const Over& over,
                const std::function<std::string(uint32_t)>& bytes) {
  while (!over) {
    Http2Client client(server.address());
    for (uint32_t piece = 0; !over && client.Send(bytes(piece)); ++piece) {
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
}

void FloodHttp(const HostileServer& server, const Over& over, const std::string& head,
               const std::string& piece) {
  while (!over) {
    HttpClient client(server.http_port(), kAttacker);
    bool taken = client.SendText(head);
    while (taken && !over) {
      taken = client.SendText(piece);
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
}

void Calls(const HostileServer& server, const Over& over, const RawCall& call) {
  const auto channel = server.NewChannel();
  while (!over) {
    CallRaw(channel, call);
  }
}

// A message whose first field is repeated, each time empty.
std::string EmptyParts(size_t bytes) {
  std::string parts;
  while (parts.size() < bytes) {
    parts += std::string("\x0a\x00", 2);
  }
  return parts;
}

std::string PostHead(const std::string& more) {
  return absl::StrCat(
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n", more);
}

void EndlessHeaders(const HostileServer& server, const Over& over) {
  const std::string begin =
      Http2Client::CallHeaders(kTrain) + std::string("\0\x01x\x7f\xff\xff\xff\x7f", 8);
  FloodHttp2(server, over, [&, more = std::string(16384, 'x')](uint32_t piece) {
    return piece == 0 ? Http2Client::Frame(Http2Client::kHeaders, 0, 1, begin)
                      : Http2Client::Frame(Http2Client::kContinuation, 0, 1, more);
  });
}

void EmptyFrames(const HostileServer& server, const Over& over) {
  std::string settings;
  for (int i = 0; i < 1000; ++i) {
    settings += Http2Client::Frame(Http2Client::kSettings, 0, 0, "");
  }
  FloodHttp2(server, over, [&](uint32_t) { return settings; });
}

void Connections(const HostileServer& server, const Over& over) {
  std::vector<std::unique_ptr<Http2Client>> open;
  while (!over) {
    if (open.size() < 300) {
      open.push_back(std::make_unique<Http2Client>(server.address()));
    } else {
      open.clear();
    }
  }
}

void CompressedMessages(const HostileServer& server, const Over& over) {
  const grpc::ByteBuffer message = MessageOf(std::string(size_t{60} << 20, '\0'));
  Calls(server, over,
        {.path = kTrain,
         .message = message,
         .headers = TokenOf(server),
         .compression = GRPC_COMPRESS_GZIP});
}

void LargeMessagesOfStrangers(const HostileServer& server, const Over& over) {
  Calls(server, over, {.path = kTrain, .message = MessageOf(EmptyParts(size_t{62} << 20))});
}

void MessagesThatBecomeLarge(const HostileServer& server, const Over& over) {
  Calls(server, over,
        {.path = "/mercer.v1.PredictionService/Predict",
         .message = MessageOf("\x12\x80\x80\x80\x0f" + EmptyParts(size_t{30} << 20)),
         .headers = TokenOf(server)});
}

// Each just small enough to be parsed, and destroyed.
void MessagesThatFillMemory(const HostileServer& server, const Over& over) {
  Calls(server, over,
        {.path = "/mercer.v1.PredictionService/Predict",
         .message = MessageOf("\x12\x80\x80\x80\x02" + EmptyParts(size_t{4} << 20)),
         .headers = TokenOf(server)});
}

void BadTexts(const HostileServer& server, const Over& over) {
  Calls(server, over,
        {.path = kGetJob, .message = MessageOf("\x0a\x01\xff"), .headers = TokenOf(server)});
}

void ChunkExtensions(const HostileServer& server, const Over& over) {
  FloodHttp(server, over, PostHead("Transfer-Encoding: chunked\r\n\r\n5;"),
            std::string(size_t{1} << 20, 'x'));
}

void BodiesOfStrangers(const HostileServer& server, const Over& over) {
  FloodHttp(server, over, PostHead("Content-Length: 16000000\r\n\r\n"),
            std::string(size_t{1} << 20, ' '));
}

void BodiesThatBecomeLarge(const HostileServer& server, const Over& over) {
  std::string json = R"({"learner":{"lpMkl":{"kernels":[{})";
  while (json.size() < size_t{3} << 20) {
    json += ",{}";
  }
  json += "]}}}";
  const HttpHeaders token = {{"Authorization", absl::StrCat("Bearer ", server.token())}};
  while (!over) {
    HttpClient(server.http_port(), kAttacker).Post("/v1/jobs", json, token);
  }
}

}  // namespace

const std::vector<Attack>& Attacks() {
  static const auto* const attacks = new std::vector<Attack>{
      {"EndlessHeaders", EndlessHeaders},
      {"EmptyFrames", EmptyFrames},
      {"Connections", Connections},
      {"CompressedMessages", CompressedMessages},
      {"LargeMessagesOfStrangers", LargeMessagesOfStrangers},
      {"MessagesThatBecomeLarge", MessagesThatBecomeLarge},
      // 128 MiB beside the 512 that requests may take.
      {"MessagesThatFillMemory", MessagesThatFillMemory, int64_t{640} << 20},
      {"BadTexts", BadTexts},
      {"ChunkExtensions", ChunkExtensions},
      {"BodiesOfStrangers", BodiesOfStrangers},
      {"BodiesThatBecomeLarge", BodiesThatBecomeLarge},
  };
  return *attacks;
}

}  // namespace mercer::server
