// How requests of HTTP become RPCs. Each function answers the exchange in the end.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/memory/lru_cache.h"
#include "server/budget/budget.h"
#include "server/gateway/event_stream.h"
#include "server/gateway/gateway.h"
#include "server/gateway/http/exchange.h"
#include "server/gateway/routes.h"
#include "server/gateway/rpc_channel.h"
#include "server/jobs/executor.h"

namespace mercer::gateway {

// What an answer of a stream becomes.
struct WrittenEvent {
  const char* name = nullptr;            // null: a comment, without data
  std::string data;                      // JSON
  std::optional<int64_t> sequence = {};  // where the RPC is with it; of a comment none
};
// By the method and the bytes of the answer.
using WrittenEvents = LruCache<std::shared_ptr<const WrittenEvent>>;

// What the parts of the gateway share. Outlives all exchanges.
struct GatewayContext {
  GatewayContext(const GatewayOptions& given, GatewayDependencies dependencies)
      : options(given), parts(std::move(dependencies)), channel(parts.channel, parts.peer_key) {
    options.all_body_bytes = std::max(options.all_body_bytes, 2 * options.max_body_bytes);
  }

  GatewayOptions options;
  const GatewayDependencies parts;
  RpcChannel channel;
  std::unique_ptr<server::ThreadPool> workers;  // for JSON that takes its time
  const server::Budget event_streams;
  const server::Budget bodies;
  WrittenEvents written_events{int64_t{16} << 20};
  std::atomic<bool> ready = false;
};

// One request and one answer.
void AnswerUnary(GatewayContext& context, std::shared_ptr<Exchange> exchange, RouteMatch match);

// POST /v1/datasets:upload: a data set as the body. The query has the fields of UploadHeader (datasetId=mail, labels.team=a) and, for a
// file that is one table: format (csv, the default; svmlight), target (the name of its column). `header` is the whole UploadHeader as
// JSON instead. The length of the body, where the client says it, is checked like total_bytes. As much of the body is read as the
// server has taken.
void AnswerUpload(GatewayContext& context, std::shared_ptr<Exchange> exchange,
                  const RouteMatch& match);

// The stored file of a model as the body of an answer; reads from the server as fast as the client does.
void AnswerExport(GatewayContext& context, std::shared_ptr<Exchange> exchange,
                  const RouteMatch& match);

// Answers of streams of the server as events. Null: it has been answered with an error. All begins behind the header Last-Event-ID where
// there is one.
//   GET /v1/jobs/{job}/events: the progress of one job behind the parameter afterSequence.
//   GET /v1/events?jobs=1&job=jobs/a:12: all that a page shows, in one stream: changes of jobs behind the parameter afterSequence, and
//   the progress of the jobs that are named, each behind its number (see WatchJobsQuery).
std::shared_ptr<EventStream> StreamEvents(GatewayContext& context,
                                          std::shared_ptr<Exchange> exchange,
                                          const RouteMatch& match);

}  // namespace mercer::gateway
