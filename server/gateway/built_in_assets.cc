#include <algorithm>

#include "absl/types/span.h"

#include "server/gateway/asset_table.h"
#include "server/gateway/assets.h"

namespace mercer::gateway {

const Asset* FindBuiltInAsset(std::string_view path) {
  const absl::Span<const Asset> assets = BuiltInAssets();
  const auto found = std::find_if(assets.begin(), assets.end(),
                                  [path](const Asset& asset) { return asset.path == path; });
  return found == assets.end() ? nullptr : &*found;
}

}  // namespace mercer::gateway
