// Written by cmake/EmbedAssets.cmake from the files of build/web.
#pragma once

#include "absl/types/span.h"

#include "server/gateway/assets.h"

namespace mercer::gateway {

absl::Span<const Asset> BuiltInAssets();

}  // namespace mercer::gateway
