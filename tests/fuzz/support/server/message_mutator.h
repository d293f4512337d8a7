// Mutation of protobuf messages field by field: blind changes of bytes seldom leave a message that can be parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/message.h>

namespace mercer::fuzz {

// Changes one field at some depth: sets it to a value at which code breaks, removes it, repeats an element.
void MutateMessage(google::protobuf::Message& message, unsigned int seed);

// For LLVMFuzzerCustomMutator: `bytes` are `prefix_bytes` bytes and a message of `prototype`'s type. Now and then, and
// when they cannot be parsed, the bytes themselves are changed.
size_t MutateMessageBytes(const google::protobuf::Message& prototype, size_t prefix_bytes,
                          uint8_t* data, size_t size, size_t max_size, unsigned int seed);

// A sequence of messages as an input: each behind its size in 4 bytes.
std::string JoinMessages(const std::vector<std::string>& messages);
std::vector<std::string> SplitMessages(std::string_view input);
// For LLVMFuzzerCustomMutator of such an input: changes, removes, repeats or swaps messages.
size_t MutateSequence(const google::protobuf::Message& prototype, uint8_t* data, size_t size,
                      size_t max_size, unsigned int seed);

}  // namespace mercer::fuzz
