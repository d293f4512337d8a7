// Runs a target without libFuzzer: on its seeds, on the files that are named, and on a fixed number of mutations of all
// of them. The same program and files always give the same inputs.
//
//   fuzz_csv_reader_replay --mutations=2000 --keep=csv_reader.input tests/fuzz/corpus/csv_reader
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "tests/fuzz/support/fuzz_target.h"

extern "C" {
int LLVMFuzzerInitialize(int* argc, char*** argv);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                     unsigned int seed);
// No input is worth an allocation of this size.
const char* __asan_default_options();
const char* __asan_default_options() { return "max_allocation_size_mb=512"; }
}

namespace {

constexpr size_t kMaxInputBytes = size_t{1} << 16;
constexpr unsigned kSecondsPerInput = 60;
#ifndef MERCER_SANITIZED
constexpr rlim_t kMaxMemoryBytes = rlim_t{2} << 30;
#endif

// Of the process, because LLVMFuzzerMutate, which the mutators of the targets call, takes no context.
std::mt19937_64 random_bits;  // NOLINT(cert-msc51-cpp): the same inputs in every run
std::vector<std::string> corpus;

size_t Below(size_t count) { return count == 0 ? 0 : random_bits() % count; }

// Small steps and the values at which arithmetic breaks.
uint64_t InterestingNumber() {
  constexpr uint64_t kNumbers[] = {0, 1, 2, 3, 7, 8, 63, 64, 100, 127, 128, 255, 256, 1000};
  switch (Below(4)) {
    case 0:
      return kNumbers[Below(std::size(kNumbers))];
    case 1:
      return ~kNumbers[Below(std::size(kNumbers))];
    case 2:
      return (uint64_t{1} << Below(64)) - Below(2);
    default:
      return random_bits();
  }
}

void OverwriteNumber(std::string& text) {
  const uint64_t number = InterestingNumber();
  const size_t width = std::min(size_t{1} << Below(4), text.size());
  const size_t at = Below(text.size() - width + 1);
  text.replace(at, width, reinterpret_cast<const char*>(&number), width);
}

void MutateOnce(std::string& text) {
  const size_t at = Below(text.size() + 1);
  const size_t length = std::min(text.size() - at, 1 + Below(16));
  switch (text.empty() ? 1 : Below(8)) {
    case 0:
      text[Below(text.size())] ^= static_cast<char>(1 << Below(8));
      return;
    case 1:
      text.insert(at, 1 + Below(8), static_cast<char>(random_bits()));
      return;
    case 2:
      text.erase(at, length);
      return;
    case 3:
      text.insert(at, text.substr(Below(text.size()), 1 + Below(64)));
      return;
    case 4:
      text.insert(at, std::to_string(static_cast<int64_t>(InterestingNumber())));
      return;
    case 5: {
      const std::string& other = corpus[Below(corpus.size())];
      text.replace(at, length, other.substr(Below(other.size() + 1), 1 + Below(64)));
      return;
    }
    default:
      OverwriteNumber(text);
  }
}

void Run(const std::string& input, std::FILE* keep) {
  if (keep != nullptr) {  // what ends the process can be looked at afterwards
    std::rewind(keep);
    std::fwrite(input.data(), 1, input.size(), keep);
    std::fflush(keep);
    if (ftruncate(fileno(keep), static_cast<off_t>(input.size())) != 0) {
      std::abort();
    }
  }
  alarm(kSecondsPerInput);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  alarm(0);
}

std::string Mutated(std::string input) {
  if (LLVMFuzzerCustomMutator != nullptr) {
    size_t size = std::min(input.size(), kMaxInputBytes);
    input.resize(kMaxInputBytes);
    size = LLVMFuzzerCustomMutator(reinterpret_cast<uint8_t*>(input.data()), size, kMaxInputBytes,
                                   static_cast<unsigned>(random_bits()));
    input.resize(size);
    return input;
  }
  for (size_t steps = 1 + Below(4); steps > 0; --steps) {
    MutateOnce(input);
  }
  input.resize(std::min(input.size(), kMaxInputBytes));
  return input;
}

// A file, or all files of a folder. A folder of the corpus that is not there yet holds nothing; false for another path
// that is not there.
bool ReadInputs(const std::filesystem::path& named) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(named)) {
    for (const auto& entry : std::filesystem::directory_iterator(named)) {
      paths.push_back(entry.path());
    }
  } else if (std::filesystem::exists(named)) {
    paths.push_back(named);
  } else {
    return std::filesystem::is_directory(named.parent_path()) &&
           named.parent_path().filename() == "corpus";
  }
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return true;
}

void LimitMemory() {
#ifndef MERCER_SANITIZED
  const rlimit limit = {kMaxMemoryBytes, kMaxMemoryBytes};
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  std::string input(reinterpret_cast<const char*>(data), size);
  MutateOnce(input);
  input.resize(std::min(input.size(), max_size));
  std::copy(input.begin(), input.end(), data);
  return input.size();
}

int main(int argc, char** argv) {
  constexpr std::string_view kMutations = "--mutations=";
  constexpr std::string_view kKeep = "--keep=";
  LLVMFuzzerInitialize(&argc, &argv);
  LimitMemory();
  corpus = mercer::fuzz::Seeds();
  long mutations = 0;
  std::FILE* keep = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(kMutations, 0) == 0) {
      mutations = std::atol(argument.c_str() + kMutations.size());
    } else if (argument.rfind(kKeep, 0) == 0) {
      keep = std::fopen(argument.c_str() + kKeep.size(), "wb");
    } else if (!ReadInputs(argument)) {
      std::fprintf(stderr, "there is no file or folder %s\n", argument.c_str());
      return 1;
    }
  }
  corpus.emplace_back();
  for (const std::string& input : corpus) {
    Run(input, keep);
  }
  for (long i = 0; i < mutations; ++i) {
    Run(Mutated(corpus[Below(corpus.size())]), keep);
  }
  return 0;
}
