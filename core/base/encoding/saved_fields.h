// Structs that are saved name their fields once; writer, reader, limits and checks follow from that
// list.
//
//   struct State {
//     Vector dual;
//     int64_t iterations = 0;
//     Stop stop = Stop::kRunning;
//
//     static void VisitFields(auto& visit, auto& self, const Sizes& of) {
//       visit(Sized(self.dual, of.rows), self.iterations, UpTo(self.stop, Stop::kPrecision));
//       visit.Require([&] { return self.dual.allFinite(); });
//     }
//   };
//
//   WriteFields(state, writer, sizes);
//   ReadFields(reader, state, sizes);  // a field outside its limits marks the input as damaged
//
// The order of the list is that of the bytes. The last argument of VisitFields, what limits depend
// on, may be left out everywhere. Integers of 64 bits are counts of steps (step_count.h), those of
// 32 bits numbers >= 0 that take 64; an enumeration is a byte, an optional one a flag and a byte, an
// optional struct a flag and, when it is there, its fields. A list or a map is its length and its
// elements, a pair its two parts, a variant the number of the alternative, a byte, and that, and a
// shared value, which must be there, the value. Custom() is for what has a form of its own.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/field_kinds.h"
#include "core/base/numeric/step_count.h"
#include "core/base/numeric/types.h"
#include "core/base/numeric/variant.h"

namespace mercer {

template <typename Visitor, typename Self, typename Sizes>
void VisitFieldsOf(Visitor& visit, Self& self, const Sizes& sizes) {
  using Struct = std::remove_const_t<Self>;
  if constexpr (std::is_same_v<Sizes, NoSizes>) {
    Struct::VisitFields(visit, self);
  } else {
    Struct::VisitFields(visit, self, sizes);
  }
}

class FieldWriter {
 public:
  explicit FieldWriter(ByteWriter& writer) : writer_(writer) {}

  template <typename... Fields>
  void operator()(const Fields&... fields) {
    (Write(fields), ...);
  }
  // What is written was checked when it was read or made.
  template <typename Condition>
  void Require(const Condition& /*holds*/) {}

 private:
  void Write(const bool& value) { writer_.WriteBool(value); }
  void Write(const int& value) { writer_.WriteInt64(value); }
  void Write(const uint64_t& value) { writer_.WriteUint64(value); }
  void Write(const int64_t& value) { writer_.WriteInt64(value); }
  void Write(const double& value) { writer_.WriteDouble(value); }
  void Write(const std::string& value) { writer_.WriteString(value); }
  void Write(const std::string_view& value) { writer_.WriteString(value); }
  void Write(const std::vector<std::string>& value) { writer_.WriteStrings(value); }
  void Write(const std::vector<Index>& value) { writer_.WriteIndices(value); }
  void Write(const std::vector<double>& value) { writer_.WriteDoubles(value); }
  void Write(const Vector& value) { writer_.WriteVector(value); }
  void Write(const Matrix& value) { writer_.WriteMatrix(value); }
  void Write(const RowMatrix& value) { writer_.WriteRowMatrix(value); }

  template <typename First, typename Second>
  void Write(const std::pair<First, Second>& value) {
    Write(value.first);
    Write(value.second);
  }
  template <typename... Types>
  void Write(const Variant<Types...>& value) {
    writer_.WriteUint8(static_cast<uint8_t>(value.index()));
    std::visit([this](const auto& alternative) { this->Write(alternative); }, value);
  }
  template <typename Value>
  void Write(const std::shared_ptr<Value>& value) {
    Write(*value);
  }

  void Write(const FormerNumber& /*field*/) { writer_.WriteDouble(0); }
  template <typename Value, typename WriteValue, typename ReadValue>
  void Write(const CustomField<Value, WriteValue, ReadValue>& field) {
    field.write(field.value, writer_);
  }
  template <typename Square>
  void Write(const EntriesField<Square>& field) {
    writer_.WriteVector(Vector::Map(field.value.data(), field.value.size()));
  }
  template <typename Array>
  void Write(const SizedField<Array>& field) {
    Write(field.value);
  }
  template <typename Value>
  void Write(const CheckedField<Value>& field) {
    Write(field.value);
  }
  template <typename Integer>
  void Write(const IntegerField<Integer>& field) {
    Write(field.value);
  }
  template <typename Value, typename Enum>
  void Write(const EnumField<Value, Enum>& field) {
    if constexpr (std::is_enum_v<std::remove_const_t<Value>>) {
      writer_.WriteUint8(static_cast<uint8_t>(field.value));
    } else {
      writer_.WriteBool(field.value.has_value());
      writer_.WriteUint8(static_cast<uint8_t>(field.value.value_or(Enum{})));
    }
  }
  template <typename Value, typename Sizes>
  void Write(const NestedField<Value, Sizes>& field) {
    if constexpr (requires { field.value.has_value(); }) {
      writer_.WriteBool(field.value.has_value());
      if (field.value.has_value()) {
        VisitFieldsOf(*this, *field.value, field.sizes);
      }
    } else if constexpr (requires { field.value.begin(); }) {
      writer_.WriteUint64(field.value.size());
      for (const auto& element : field.value) {
        if constexpr (std::is_same_v<Sizes, NoSizes>) {
          Write(element);
        } else {
          VisitFieldsOf(*this, element, field.sizes);
        }
      }
    } else {
      VisitFieldsOf(*this, field.value, field.sizes);
    }
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void Write(const Struct& value) { Write(Nested(value, NoSizes())); }

  ByteWriter& writer_;
};

class FieldReader {
 public:
  explicit FieldReader(ByteReader& reader) : reader_(reader) {}

  template <typename... Fields>
  void operator()(Fields&&... fields) {
    (Read(fields), ...);
  }
  template <typename Condition>
  void Require(const Condition& holds) {
    if (reader_.ok() && !holds()) {
      reader_.Fail();
    }
  }

 private:
  void Check(bool fits) {
    if (!fits) {
      reader_.Fail();
    }
  }

  void Read(bool& value) { value = reader_.ReadBool(); }
  void Read(int& value) {
    const int64_t read = reader_.ReadInt64();
    const bool fits = read >= 0 && read <= std::numeric_limits<int>::max();
    Check(fits);
    value = fits ? static_cast<int>(read) : 0;
  }
  void Read(uint64_t& value) { value = reader_.ReadUint64(); }
  void Read(int64_t& value) {
    value = reader_.ReadInt64();
    Check(IsStepCount(value));
  }
  void Read(double& value) { value = reader_.ReadDouble(); }
  void Read(std::string& value) { value = reader_.ReadString(); }
  void Read(std::vector<std::string>& value) { value = reader_.ReadStrings(); }
  void Read(std::vector<Index>& value) { value = reader_.ReadIndices(); }
  void Read(std::vector<double>& value) { value = reader_.ReadDoubles(); }
  void Read(Vector& value) { value = reader_.ReadVector(); }
  void Read(Matrix& value) { value = reader_.ReadMatrix(); }
  void Read(RowMatrix& value) { value = reader_.ReadRowMatrix(); }

  template <typename First, typename Second>
  void Read(std::pair<First, Second>& value) {
    Read(value.first);
    Read(value.second);
  }
  template <typename... Types>
  void Read(Variant<Types...>& value) {
    const uint8_t chosen = reader_.ReadUint8();
    Check(chosen < sizeof...(Types));
    uint8_t number = 0;
    ((number++ == chosen ? ReadAlternative(value.template emplace<Types>()) : void()), ...);
  }
  // An integer that is an alternative may be any.
  template <typename Value>
  void ReadAlternative(Value& value) {
    if constexpr (std::is_same_v<Value, int64_t>) {
      value = reader_.ReadInt64();
    } else {
      Read(value);
    }
  }
  template <typename Value>
  void Read(std::shared_ptr<const Value>& value) {
    auto read = std::make_shared<Value>();
    Read(*read);
    value = std::move(read);
  }
  template <typename Map>
  void ReadEntry(Map& map) {
    typename Map::key_type key;
    Read(key);
    Read(map[std::move(key)]);
  }

  void Read(FormerNumber& /*field*/) { reader_.ReadDouble(); }
  template <typename Value, typename WriteValue, typename ReadValue>
  void Read(CustomField<Value, WriteValue, ReadValue>& field) {
    field.value = field.read(reader_);
  }
  template <typename Square>
  void Read(EntriesField<Square>& field) {
    const Vector entries = reader_.ReadVector();
    Check(entries.size() == 0 || entries.size() == field.order * field.order);
    if (reader_.ok() && entries.size() > 0) {
      field.value = Square::Map(entries.data(), field.order, field.order);
    }
  }
  template <typename Array>
  void Read(SizedField<Array>& field) {
    Read(field.value);
    Check(field.Fits());
  }
  template <typename Value>
  void Read(CheckedField<Value>& field) {
    Read(field.value);
    Check(field.holds(field.value));
  }
  template <typename Integer>
  void Read(IntegerField<Integer>& field) {
    field.value = reader_.ReadInt64();
  }
  template <typename Value, typename Enum>
  void Read(EnumField<Value, Enum>& field) {
    bool there = true;
    if constexpr (!std::is_enum_v<Value>) {
      there = reader_.ReadBool();
    }
    const uint8_t number = reader_.ReadUint8();
    Check(number <= static_cast<uint8_t>(field.last));
    if (there && reader_.ok()) {
      field.value = static_cast<Enum>(number);
    }
  }
  template <typename Value, typename Sizes>
  void Read(NestedField<Value, Sizes>& field) {
    if constexpr (requires { field.value.has_value(); }) {
      if (reader_.ReadBool()) {
        VisitFieldsOf(*this, field.value.emplace(), field.sizes);
      }
    } else if constexpr (requires { field.value.begin(); }) {
      const uint64_t count = reader_.ReadUint64();
      for (uint64_t i = 0; i < count && reader_.ok(); ++i) {
        if constexpr (requires { typename Value::mapped_type; }) {
          ReadEntry(field.value);
        } else if constexpr (std::is_same_v<Sizes, NoSizes>) {
          Read(field.value.emplace_back());
        } else {
          VisitFieldsOf(*this, field.value.emplace_back(), field.sizes);
        }
      }
    } else {
      VisitFieldsOf(*this, field.value, field.sizes);
    }
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void Read(Struct& value) {
    const NoSizes none{};
    NestedField<Struct, NoSizes> field = Nested(value, none);
    Read(field);
  }

  ByteReader& reader_;
};

template <typename Struct, typename Sizes = NoSizes>
void WriteFields(const Struct& value, ByteWriter& writer, const Sizes& sizes = {}) {
  FieldWriter visit(writer);
  visit(Nested(value, sizes));
}
// False, and the reader has failed, when some field is outside its limits.
template <typename Struct, typename Sizes = NoSizes>
bool ReadFields(ByteReader& reader, Struct& value, const Sizes& sizes = {}) {
  FieldReader visit(reader);
  visit(Nested(value, sizes));
  return reader.ok();
}

// The same for bytes that hold nothing else.
template <typename Struct, typename Sizes = NoSizes>
std::string SaveFields(const Struct& value, const Sizes& sizes = {}) {
  ByteWriter writer;
  WriteFields(value, writer, sizes);
  return std::move(writer).Take();
}
template <typename Struct, typename Sizes = NoSizes>
bool LoadFields(std::string_view bytes, Struct& value, const Sizes& sizes = {}) {
  ByteReader reader(bytes);
  return ReadFields(reader, value, sizes) && reader.AtEnd();
}

}  // namespace mercer
