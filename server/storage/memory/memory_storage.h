// Storage that forgets: for tests and experiments. Done is called on the calling thread.
#pragma once

#include <memory>

#include "server/storage/storage.h"

namespace mercer::server {

std::unique_ptr<Storage> MakeMemoryStorage();

}  // namespace mercer::server
