// What a server says of itself.
#pragma once

#include <vector>

#include "core/training/contract/learner.h"
#include "mercer/v1/server_service.pb.h"
#include "server/app/server_options.h"

namespace mercer::server {

// Of a server that starts now: all that stays as long as it runs. `options` are resolved.
v1::ServerInfo MakeServerInfo(const ServerOptions& options,
                              const std::vector<const LearnerEntry*>& learners);

}  // namespace mercer::server
