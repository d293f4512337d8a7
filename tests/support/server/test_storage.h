// The server's own storage, for tests that want one and not a data folder: its folder comes and goes with it.
#pragma once

#include <cerrno>
#include <filesystem>
#include <memory>
#include <stdlib.h>
#include <string>
#include <system_error>
#include <utility>

#include "server/storage/forwarding_storage.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "tests/support/fast_folder.h"

namespace mercer::server {

class TestStorage final : public ForwardingStorage {
 public:
  TestStorage(std::string folder, std::unique_ptr<Storage> storage)
      : ForwardingStorage(storage.get()),
        folder_(std::move(folder)),
        storage_(std::move(storage)) {}
  ~TestStorage() override {
    storage_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 private:
  const std::string folder_;
  std::unique_ptr<Storage> storage_;
};

// In a new folder of FastFolder(), where a sync costs nothing; mkdtemp puts letters for each X. Throws when there is none.
inline std::unique_ptr<Storage> MakeTestStorage() {
  SqliteOptions options;
  options.folder = FastFolder() / "mercer-storage-XXXXXX";
  if (mkdtemp(options.folder.data()) == nullptr) {
    throw std::filesystem::filesystem_error("no folder for a storage", options.folder,
                                            std::error_code(errno, std::generic_category()));
  }
  return std::make_unique<TestStorage>(options.folder, OpenSqliteStorage(options).value());
}

}  // namespace mercer::server
