// Ids that nothing else has.
#pragma once

#include <string>

namespace mercer::server {

// 80 random bits in Crockford's alphabet, lower case: no letters that look alike.
std::string NewId();

}  // namespace mercer::server
