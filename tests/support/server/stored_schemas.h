// Databases of earlier versions: tests/fixtures/database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "tests/support/source_folder.h"

namespace mercer::server {

struct StoredSchema {
  int64_t version = 0;  // 0: an empty database
  std::string script;
};

// The empty database and every stored one, by version.
inline std::vector<StoredSchema> StoredSchemas() {
  std::vector<StoredSchema> schemas = {{0, ""}};
  const std::filesystem::path folder = SourceFolder() / "tests/fixtures/database";
  for (int64_t version = 1;; ++version) {
    std::ifstream file(folder / absl::StrCat("schema_", version, ".sql"));
    if (!file.is_open()) {
      return schemas;
    }
    schemas.push_back({version, std::string((std::istreambuf_iterator<char>(file)), {})});
  }
}

}  // namespace mercer::server
