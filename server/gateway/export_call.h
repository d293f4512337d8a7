// The stored file of a model as the body of an answer.
#pragma once

#include <memory>

#include "server/gateway/gateway_context.h"
#include "server/gateway/http/exchange.h"
#include "server/gateway/routes.h"

namespace mercer::gateway {

// Answers the exchange in the end; reads from the server as fast as the client does.
void AnswerExport(GatewayContext& context, std::shared_ptr<Exchange> exchange,
                  const RouteMatch& match);

}  // namespace mercer::gateway
