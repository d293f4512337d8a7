// Large buffers on large pages: the first touch of a Gram matrix in pages of 4 KB costs as much as
// computing ten kernels.
#pragma once

#include <cstddef>

namespace mercer {

// Advises the system to back a buffer that was just allocated, and not yet written, by huge pages.
// Where there are none, or the buffer is small, it does nothing.
void PreferHugePages(void* data, size_t bytes);

}  // namespace mercer
