// A request of HTTP that is one RPC with one request and one answer.
#pragma once

#include <memory>

#include "server/gateway/gateway_context.h"
#include "server/gateway/http/exchange.h"
#include "server/gateway/routes.h"

namespace mercer::gateway {

// Answers the exchange in the end.
void AnswerUnary(GatewayContext& context, std::shared_ptr<Exchange> exchange, RouteMatch match);

}  // namespace mercer::gateway
