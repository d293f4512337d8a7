// What a fuzz target is: a file tests/fuzz/<name>.cc that defines the two functions below. Linked with libFuzzer (preset
// `fuzz`) it searches for inputs that break it; linked with replay_main.cc it repeats what is stored, plus a bounded
// number of mutations, in every run of the tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mercer::fuzz {

// Runs the code under test on one input. What must not happen ends the process (checks.h), and so does what the
// sanitizers find.
void TestOneInput(std::string_view input);

// Valid inputs to begin with. They are made by the code itself, so that they never grow stale; what was found by fuzzing
// lies in tests/fuzz/corpus/<name>.
std::vector<std::string> Seeds();

}  // namespace mercer::fuzz

extern "C" {
// libFuzzer's, or that of replay_main.cc: changes the `size` bytes at `data`, which has room for `max_size`, and returns
// the new size. For mutators of the targets' own.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
// A target may define it: changes an input in a way that keeps its structure.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed);
}
