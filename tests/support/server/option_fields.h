// The fields of learners' messages as the options that they are.
#pragma once

#include <string_view>

#include <google/protobuf/descriptor.h>

#include "server/translation/option_translator.h"

namespace mercer::server {

// The field of a learner's message that is this option. Null: none is.
inline const google::protobuf::FieldDescriptor* FieldOfOption(
    const google::protobuf::Descriptor& message, std::string_view option) {
  for (int i = 0; i < message.field_count(); ++i) {
    if (OptionName(*message.field(i)) == option) {
      return message.field(i);
    }
  }
  return nullptr;
}

}  // namespace mercer::server
