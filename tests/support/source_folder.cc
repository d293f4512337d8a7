#include "tests/support/source_folder.h"

namespace mercer {

// The folder is told to this file alone: what clones of two folders compile alike is compiled once.
std::filesystem::path SourceFolder() { return MERCER_SOURCE_FOLDER; }

}  // namespace mercer
