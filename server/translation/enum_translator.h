// Enumerators of the API and of the core, where both sides are in the same order and the API's begin at 1.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/generated_enum_reflection.h>

namespace mercer::server {

// Whether that is so, which the last ones of both tell.
template <typename Api, typename Core>
constexpr bool Agree(Api api, Core core) {
  return static_cast<int>(api) == static_cast<int>(core) + 1;
}

template <typename Api, typename Core>
constexpr Api ToApiEnum(Core value) {
  return static_cast<Api>(static_cast<int>(value) + 1);
}

// `otherwise` for 0 and for a number without a name, which CheckUnknownFields refuses: any number may come, and arithmetic on
// some overflows.
template <typename Core, typename Api>
Core ToCoreEnum(Api value, Core otherwise) {
  const int number = static_cast<int>(value);
  const bool is_known = number > 0 && google::protobuf::GetEnumDescriptor<Api>()->FindValueByNumber(
                                          number) != nullptr;
  return is_known ? static_cast<Core>(number - 1) : otherwise;
}

// Without what all have in common: FAILED of JOB_STATE_FAILED, as the value 0 is JOB_STATE_UNSPECIFIED.
inline std::string EnumeratorWord(const google::protobuf::EnumValueDescriptor& value) {
  constexpr std::string_view kZero = "UNSPECIFIED";
  return value.name().substr(value.type()->value(0)->name().size() - kZero.size());
}

}  // namespace mercer::server
