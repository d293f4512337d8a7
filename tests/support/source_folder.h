// Where the project's files are, for tests that read some of them.
#pragma once

#include <filesystem>

namespace mercer {

std::filesystem::path SourceFolder();

}  // namespace mercer
