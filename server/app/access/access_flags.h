// The flags of the door.
#pragma once

#include <CLI/CLI.hpp>

#include "server/app/access/access_options.h"

namespace mercer::server {

// `options` outlives the parse.
void AddAccessFlags(CLI::App& app, AccessOptions& options);

}  // namespace mercer::server
