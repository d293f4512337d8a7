// The functions that libFuzzer calls, over those that a target defines.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/fuzz/support/fuzz_target.h"

namespace {

constexpr std::string_view kWriteSeeds = "--write-seeds=";

void WriteSeeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  size_t number = 0;
  for (const std::string& seed : mercer::fuzz::Seeds()) {
    std::ofstream file(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
    file.write(seed.data(), static_cast<std::streamsize>(seed.size()));
  }
}

}  // namespace

// With --write-seeds=FOLDER a program writes its seeds there and ends.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument.substr(0, kWriteSeeds.size()) == kWriteSeeds) {
      WriteSeeds(std::string(argument.substr(kWriteSeeds.size())));
      std::_Exit(0);
    }
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mercer::fuzz::TestOneInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
