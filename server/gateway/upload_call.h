// A data set sent as the body of one request.
#pragma once

#include <memory>

#include "server/gateway/gateway_context.h"
#include "server/gateway/http/exchange.h"
#include "server/gateway/routes.h"

namespace mercer::gateway {

// POST /v1/datasets:upload. The query has the fields of UploadHeader (datasetId=mail, labels.team=a) and, for a file that is one
// table: format (csv, the default; svmlight), target (the name of its column). `header` is the whole UploadHeader as JSON
// instead. The length of the body, where the client says it, is checked like total_bytes. Answers the exchange in
// the end; as much of the body is read as the server has taken.
void AnswerUpload(GatewayContext& context, std::shared_ptr<Exchange> exchange,
                  const RouteMatch& match);

}  // namespace mercer::gateway
