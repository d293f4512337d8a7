// Whether this is a build with a sanitizer, where all takes about ten times as long and freed memory is kept.
#pragma once

namespace mercer {

#ifdef MERCER_SANITIZED  // cmake/MercerSettings.cmake; GCC and Clang tell it in different ways, and not at all of some sanitizers
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace mercer
