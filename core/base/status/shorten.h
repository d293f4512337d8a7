// Text of a user within a message: enough to recognise it, never more.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mercer {

// How many bytes of a caller's text an error message quotes at most.
inline constexpr size_t kQuotedBytes = 100;

// `text` itself when it has at most `max_bytes` bytes (>= 3), else its beginning and "...",
// together at most `max_bytes`. Characters of UTF-8 stay whole.
std::string Shorten(std::string_view text, size_t max_bytes);

}  // namespace mercer
