#include "tests/conformance/exhaustion/failing_allocations.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <new>

#include "tests/support/sanitized.h"

namespace mercer {
namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;
std::atomic<int64_t> first_failure = FailingAllocations::kNever;
std::atomic<int64_t> failures = 0;

// Whether code of OpenBLAS is there. Its kernels for small products use their buffers without a look at whether they were given, which
// nobody above them can mend.
bool IsInBlas(const void* code) {
  struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
  };
  static const Range blas = [] {
    Range found;
    dl_iterate_phdr(
        [](dl_phdr_info* library, size_t /*size*/, void* range) {
          if (std::strstr(library->dlpi_name, "openblas") == nullptr) {
            return 0;
          }
          for (int i = 0; i < library->dlpi_phnum; ++i) {
            const auto& part = library->dlpi_phdr[i];
            if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
              const uintptr_t begin = library->dlpi_addr + part.p_vaddr;
              *static_cast<Range*>(range) = {begin, begin + part.p_memsz};
            }
          }
          return 1;
        },
        &found);
    return found;
  }();
  const auto place = reinterpret_cast<uintptr_t>(code);
  return place >= blas.begin && place < blas.end;
}

// Counts an allocation, by the code of `caller` where that is known, and says whether it fails.
bool Fails(const void* caller = nullptr) {
  if (!counting.load(std::memory_order_relaxed) || IsInBlas(caller)) {
    return false;
  }
  const int64_t after = allocations.fetch_add(1, std::memory_order_relaxed) - first_failure.load();
  if (after < 0 || after >= failures.load()) {
    return false;
  }
  errno = ENOMEM;
  return true;
}

}  // namespace

FailingAllocations::FailingAllocations(int64_t first, int64_t count) {
  allocations = 0;
  first_failure = first;
  failures = count;
  counting = true;
}

FailingAllocations::~FailingAllocations() { counting = false; }

int64_t FailingAllocations::seen() { return allocations; }

}  // namespace mercer

#ifdef MERCER_SANITIZED

namespace {

void* NewOrThrow(size_t size, size_t alignment) {
  void* const made =
      mercer::Fails() ? nullptr
                      : std::aligned_alloc(alignment, (std::max<size_t>(size, 1) + alignment - 1) /
                                                          alignment * alignment);
  if (made == nullptr) {
    throw std::bad_alloc();
  }
  return made;
}

}  // namespace

void* operator new(size_t size) { return NewOrThrow(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(size_t size, std::align_val_t alignment) {
  return NewOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return mercer::Fails() ? nullptr : std::malloc(std::max<size_t>(size, 1));
}
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

#else

// The C library's own, under other names.
extern "C" {
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t size);       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)

void* malloc(size_t size) {
  return mercer::Fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return mercer::Fails() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  return mercer::Fails() ? nullptr : __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  return mercer::Fails() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  void* const made = memalign(alignment, size);
  if (made == nullptr) {
    return ENOMEM;
  }
  *memory = made;
  return 0;
}
}

#endif
