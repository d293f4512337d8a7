#include "tests/fuzz/support/server/message_mutator.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <random>

#include <google/protobuf/descriptor.h>

#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/server/answers.h"

namespace mercer::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

using Random = std::minstd_rand;

constexpr int kMaxDepth = 6;

size_t Below(Random& random, size_t count) { return count == 0 ? 0 : random() % count; }

double AnyDouble(Random& random) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kValues[] = {
      0,        -0.0,       1,         -1,
      0.5,      2,          1e-300,    5e-324,
      kLargest, -kLargest,  kInfinite, -kInfinite,
      1e9,      4294967296, 1e-3,      std::numeric_limits<double>::quiet_NaN()};
  return kValues[Below(random, std::size(kValues))];
}

int64_t AnyInteger(Random& random) {
  constexpr int64_t kValues[] = {0,
                                 1,
                                 -1,
                                 2,
                                 3,
                                 10,
                                 255,
                                 1000,
                                 1 << 20,
                                 std::numeric_limits<int32_t>::max(),
                                 std::numeric_limits<int32_t>::min(),
                                 int64_t{1} << 40,
                                 int64_t{1} << 62,
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()};
  return kValues[Below(random, std::size(kValues))];
}

std::string AnyText(Random& random, std::string text) {
  switch (Below(random, 6)) {
    case 0:
      return "";
    case 1:
      return text + text;
    case 2:
      return std::string(300, 'x');
    case 3:
      return text + "\xC3\xA9\n\x01";
    default: {
      constexpr size_t kRoom = 64;
      const size_t size = text.size();
      text.resize(size + kRoom);
      text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
      return text;
    }
  }
}

int AnyEnum(Random& random, const FieldDescriptor& field) {
  const google::protobuf::EnumDescriptor& type = *field.enum_type();
  return Below(random, 8) == 0
             ? static_cast<int>(AnyInteger(random))
             : type.value(static_cast<int>(Below(random, static_cast<size_t>(type.value_count()))))
                   ->number();
}

void Change(Message& message, Random& random, int depth);

// Sets a field that is not repeated.
void SetOne(Message& message, const FieldDescriptor& field, Random& random, int depth) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.SetDouble(&message, &field, AnyDouble(random));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.SetFloat(&message, &field, static_cast<float>(AnyInteger(random)));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, &field, static_cast<int32_t>(AnyInteger(random)));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, &field, AnyInteger(random));
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.SetUInt32(&message, &field, static_cast<uint32_t>(AnyInteger(random)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(&message, &field, static_cast<uint64_t>(AnyInteger(random)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&message, &field, !reflection.GetBool(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&message, &field, AnyEnum(random, field));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(&message, &field,
                                  AnyText(random, reflection.GetString(message, &field)));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Change(*reflection.MutableMessage(&message, &field), random, depth + 1);
  }
}

// Changes one element.
void SetElement(Message& message, const FieldDescriptor& field, int i, Random& random, int depth) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.SetRepeatedDouble(&message, &field, i, AnyDouble(random));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetRepeatedInt32(&message, &field, i,
                                         static_cast<int32_t>(AnyInteger(random)));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetRepeatedInt64(&message, &field, i, AnyInteger(random));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetRepeatedEnumValue(&message, &field, i, AnyEnum(random, field));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetRepeatedString(
          &message, &field, i, AnyText(random, reflection.GetRepeatedString(message, &field, i)));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Change(*reflection.MutableRepeatedMessage(&message, &field, i), random, depth + 1);
    default:
      return;
  }
}

void AddElement(Message& message, const FieldDescriptor& field, Random& random, int depth) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.AddDouble(&message, &field, AnyDouble(random));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.AddInt32(&message, &field, static_cast<int32_t>(AnyInteger(random)));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.AddInt64(&message, &field, AnyInteger(random));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.AddEnumValue(&message, &field, AnyEnum(random, field));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.AddString(&message, &field, AnyText(random, "a"));
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const int size = reflection.FieldSize(message, &field);
      Message& added = *reflection.AddMessage(&message, &field);
      if (size > 0 && Below(random, 2) == 0) {
        added.CopyFrom(reflection.GetRepeatedMessage(message, &field, 0));
      } else {
        Change(added, random, depth + 1);
      }
      return;
    }
    default:
      return;
  }
}

void ChangeRepeated(Message& message, const FieldDescriptor& field, Random& random, int depth) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  const size_t choice = size == 0 ? 0 : Below(random, 6);
  if (choice == 0) {
    AddElement(message, field, random, depth);
  } else if (choice == 1) {
    reflection.RemoveLast(&message, &field);
  } else {
    const int i = static_cast<int>(Below(random, static_cast<size_t>(size)));
    SetElement(message, field, i, random, depth);
  }
}

// One field of `message`: mostly one that is set, else any of its type.
const FieldDescriptor* ChooseField(const Message& message, Random& random) {
  std::vector<const FieldDescriptor*> present;
  message.GetReflection()->ListFields(message, &present);
  if (!present.empty() && Below(random, 4) != 0) {
    return present[Below(random, present.size())];
  }
  const int count = message.GetDescriptor()->field_count();
  return count == 0 ? nullptr
                    : message.GetDescriptor()->field(
                          static_cast<int>(Below(random, static_cast<size_t>(count))));
}

void Change(Message& message, Random& random, int depth) {
  const FieldDescriptor* field = ChooseField(message, random);
  if (field == nullptr || depth > kMaxDepth) {
    return;
  }
  if (Below(random, 12) == 0) {
    message.GetReflection()->ClearField(&message, field);
  } else if (field->is_repeated()) {
    ChangeRepeated(message, *field, random, depth);
  } else {
    SetOne(message, *field, random, depth);
  }
}

// Replaces the bytes unless there is no room.
size_t Store(const std::string& bytes, uint8_t* data, size_t size, size_t max_size) {
  if (bytes.size() > max_size) {
    return size;
  }
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

}  // namespace

void MutateMessage(Message& message, unsigned int seed) {
  Random random(seed);
  for (size_t steps = 1 + Below(random, 3); steps > 0; --steps) {
    Change(message, random, 0);
  }
}

size_t MutateMessageBytes(const Message& prototype, size_t prefix_bytes, uint8_t* data, size_t size,
                          size_t max_size, unsigned int seed) {
  SilenceProtobuf();
  Random random(seed);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view body = bytes.substr(std::min(prefix_bytes, size));
  const std::unique_ptr<Message> message(prototype.New());
  if (Below(random, 8) == 0 || size < prefix_bytes ||
      !message->ParsePartialFromArray(body.data(), static_cast<int>(body.size()))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  MutateMessage(*message, seed + 1);
  return Store(std::string(bytes.substr(0, prefix_bytes)) + message->SerializePartialAsString(),
               data, size, max_size);
}

std::string JoinMessages(const std::vector<std::string>& messages) {
  std::string input;
  for (const std::string& message : messages) {
    const auto size = static_cast<uint32_t>(message.size());
    input.append(reinterpret_cast<const char*>(&size), sizeof(size));
    input += message;
  }
  return input;
}

std::vector<std::string> SplitMessages(std::string_view input) {
  std::vector<std::string> messages;
  uint32_t size = 0;
  while (input.size() >= sizeof(size)) {
    std::memcpy(&size, input.data(), sizeof(size));
    input.remove_prefix(sizeof(size));
    messages.emplace_back(input.substr(0, size));
    input.remove_prefix(messages.back().size());
  }
  return messages;
}

size_t MutateSequence(const Message& prototype, uint8_t* data, size_t size, size_t max_size,
                      unsigned int seed) {
  Random random(seed);
  std::vector<std::string> messages = SplitMessages({reinterpret_cast<const char*>(data), size});
  if (messages.empty()) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::string& chosen = messages[Below(random, messages.size())];
  switch (Below(random, 10)) {
    case 0:
      messages.erase(messages.begin() + (&chosen - messages.data()));
      break;
    case 1:
      messages.push_back(std::string(chosen));
      break;
    case 2:
      std::swap(chosen, messages[Below(random, messages.size())]);
      break;
    default: {
      const size_t before = chosen.size();
      chosen.resize(before + 4096);
      chosen.resize(MutateMessageBytes(prototype, 0, reinterpret_cast<uint8_t*>(chosen.data()),
                                       before, chosen.size(), seed + 2));
    }
  }
  return Store(JoinMessages(messages), data, size, max_size);
}

}  // namespace mercer::fuzz
