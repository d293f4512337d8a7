// Text as the API and JSON have it.
#pragma once

#include <cstddef>
#include <string_view>

namespace mercer {

// Length of the well-formed UTF-8 sequence at the beginning of `text`, which is not empty; 0 when
// there is none (RFC 3629, section 4).
size_t Utf8Length(std::string_view text);

// Whether all of `text` is well-formed UTF-8.
bool IsUtf8(std::string_view text);

}  // namespace mercer
