// What mercer-server-faulty does besides what mercer-server does: before the call number MERCER_FAULTY_CALL that changes a
// file below MERCER_FAULTY_FOLDER it ends, as MERCER_FAULTY_END says:
//   kill        nothing more is done
//   power       as kill; MERCER_FAULTY_AFTER is made with what a disk would hold that has written what it was told to
//               sync and nothing else
//   power-some  the same, but some of what was not to be synced was written
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <unistd.h>

#include "tests/fault/files/file_faults.h"

namespace mercer::server {
namespace {

std::string Setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::unique_ptr<FileFaults> MakeFaults() {
  const std::string folder = Setting("MERCER_FAULTY_FOLDER");
  const std::string end = Setting("MERCER_FAULTY_END");
  const std::string after = Setting("MERCER_FAULTY_AFTER");
  const int64_t call = std::atoll(Setting("MERCER_FAULTY_CALL").c_str());
  auto faults = std::make_unique<FileFaults>(folder);
  faults->set_before_call([=, faults = faults.get()](int64_t number, const std::string& /*what*/) {
    if (number != call) {
      return;
    }
    std::mt19937_64 random(static_cast<uint64_t>(call));
    if (end != "kill") {
      // Whole or not at all: somebody else may kill the process in between.
      faults->WriteAfterPowerLoss(after + ".part", end == "power" ? nullptr : &random);
      std::filesystem::rename(after + ".part", after);
    }
    kill(getpid(), SIGKILL);
    pause();
  });
  return faults;
}

// For the whole life of the program.
const std::unique_ptr<FileFaults> faults = MakeFaults();

}  // namespace
}  // namespace mercer::server
