// What an update changes of a job, a data set, a model or a version: what is given.
#pragma once

#include <optional>
#include <string>

#include "server/storage/owner_check.h"
#include "server/storage/records.h"

namespace mercer::server {

struct ResourceUpdate {
  std::optional<Labels> labels = std::nullopt;
  std::optional<std::string> display_name = std::nullopt;  // versions have none
  std::optional<std::string> description = std::nullopt;   // models and versions alone
  std::string etag = {};       // it must still be that (records.h); empty: any
  OwnerCheck check = nullptr;  // asked of the resource's owner
};

}  // namespace mercer::server
