// The event streams of the API.
#pragma once

#include <memory>

#include "server/gateway/event_stream.h"
#include "server/gateway/gateway_context.h"
#include "server/gateway/http/exchange.h"
#include "server/gateway/routes.h"

namespace mercer::gateway {

// GET /v1/jobs/{job}/events: the progress of one job; begins behind the header Last-Event-ID, else behind the parameter
// afterSequence. Null, as below: it has been answered with an error.
std::shared_ptr<EventStream> StreamJob(GatewayContext& context, std::shared_ptr<Exchange> exchange,
                                       const RouteMatch& match);

// GET /v1/events?jobs=1&job=jobs/a:12: all that a page shows, in one stream: changes of jobs, and the progress of the jobs that are
// named, each behind its number; the changes behind the parameter afterSequence, and all behind the header Last-Event-ID.
std::shared_ptr<EventStream> StreamPage(GatewayContext& context,
                                        std::shared_ptr<Exchange> exchange);

}  // namespace mercer::gateway
