// Enumerators of the API as those of the core.
#pragma once

namespace mercer::server {

// The core's enumerator for `value`, where both sides are in the same order and the API's begin at 1. A number without a
// name, which CheckUnknownFields refuses, and 0 give the first: any number may come, and arithmetic on some overflows.
template <typename To, typename From>
To ToCoreEnum(From value, bool (*is_valid)(int)) {
  const int number = static_cast<int>(value);
  return number > 0 && is_valid(number) ? static_cast<To>(number - 1) : To{};
}

}  // namespace mercer::server
