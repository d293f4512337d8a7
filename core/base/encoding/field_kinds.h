// What a list of saved fields (saved_fields.h) may say of a field besides its name.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>
#include <vector>

#include "core/base/numeric/types.h"

namespace mercer {

// An array of a known size, or none where that may be.
template <typename Array>
struct SizedField {
  Array& value;
  Index rows;
  Index columns;
  bool may_be_empty;

  bool Fits() const {
    if constexpr (requires { value.cols(); }) {
      return (value.rows() == rows && value.cols() == columns) ||
             (may_be_empty && value.size() == 0);
    } else {
      return static_cast<Index>(value.size()) == rows || (may_be_empty && value.empty());
    }
  }
};
template <typename Array>
SizedField<Array> Sized(Array& value, Index rows, Index columns = 1) {
  return {value, rows, columns, false};
}
template <typename Array>
SizedField<Array> SizedOrEmpty(Array& value, Index rows, Index columns = 1) {
  return {value, rows, columns, true};
}

// An enumeration, or an optional one, up to `last`.
template <typename Value, typename Enum>
struct EnumField {
  Value& value;
  Enum last;
};
template <typename Value, typename Enum>
EnumField<Value, Enum> UpTo(Value& value, Enum last) {
  return {value, last};
}

// A value that `holds` is true of.
template <typename Value>
struct CheckedField {
  Value& value;
  bool (*holds)(const std::remove_const_t<Value>&);
};
template <typename Value>
CheckedField<Value> Finite(Value& value) {
  return {value, [](const std::remove_const_t<Value>& read) {
            if constexpr (std::is_floating_point_v<std::remove_const_t<Value>>) {
              return std::isfinite(read);
            } else {
              return read.allFinite();
            }
          }};
}
inline CheckedField<double> NotNegative(double& value) {
  return {value, [](const double& read) { return read >= 0; }};
}
inline CheckedField<const double> NotNegative(const double& value) { return {value, nullptr}; }
inline CheckedField<double> Positive(double& value) {
  return {value, [](const double& read) { return read > 0; }};
}
inline CheckedField<const double> Positive(const double& value) { return {value, nullptr}; }

// A square matrix, or none, of which the entries alone are saved, column by column.
template <typename Square>
struct EntriesField {
  Square& value;
  Index order;
};
template <typename Square>
EntriesField<Square> EntriesOf(Square& value, Index order) {
  return {value, order};
}

// Whether indices ascend strictly, each of 0 .. size - 1.
inline bool AreAscending(const std::vector<Index>& indices, Index size) {
  const bool ascend =
      std::adjacent_find(indices.begin(), indices.end(), std::greater_equal<>()) == indices.end();
  return ascend && (indices.empty() || (indices.front() >= 0 && indices.back() < size));
}

// A number of 64 bits that is no count of steps.
template <typename Integer>
struct IntegerField {
  Integer& value;
};
template <typename Integer>
IntegerField<Integer> AnyInteger(Integer& value) {
  return {value};
}

// A value that write(value, writer) writes, and whose read(reader) marks damaged input.
template <typename Value, typename Write, typename Read>
struct CustomField {
  Value& value;
  Write write;
  Read read;
};
template <typename Value, typename Write, typename Read>
CustomField<Value, Write, Read> Custom(Value& value, Write write, Read read) {
  return {value, write, read};
}

// The place of a number that is no longer in use: 0 is written, and what was there is passed over.
struct FormerNumber {};

// A struct, an optional one, or a list of them, with what their limits depend on.
template <typename Value, typename Sizes>
struct NestedField {
  Value& value;
  const Sizes& sizes;
};
template <typename Value, typename Sizes>
NestedField<Value, Sizes> Nested(Value& value, const Sizes& sizes) {
  return {value, sizes};
}
struct NoSizes {};

}  // namespace mercer
