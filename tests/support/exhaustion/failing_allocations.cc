#include "tests/support/exhaustion/failing_allocations.h"

#include <algorithm>
#include <array>
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
std::atomic<int64_t> one_in = 0;  // 0: those that are counted
std::atomic<uint64_t> seed = 0;
std::atomic<bool (*)()> spares = nullptr;

// The code of libraries that nobody above them can mend: OpenBLAS' kernels for small products use their buffers without a look at
// whether they were given, and gRPC's core and the loader of programs end the process.
struct Libraries {
  static constexpr size_t kMost = 32;
  struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
  };
  std::array<Range, kMost> ranges;
  size_t count = 0;
};

int AddLibrary(dl_phdr_info* library, size_t /*size*/, void* that) {
  Libraries& libraries = *static_cast<Libraries*>(that);
  const auto is = [&](const char* name) {
    return std::strstr(library->dlpi_name, name) != nullptr;
  };
  if (!is("openblas") && !is("libgpr.") && !is("libgrpc") && !is("libupb.") && !is("ld-linux")) {
    return 0;
  }
  for (int i = 0; i < library->dlpi_phnum && libraries.count < Libraries::kMost; ++i) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
      const uintptr_t begin = library->dlpi_addr + part.p_vaddr;
      libraries.ranges[libraries.count++] = {begin, begin + part.p_memsz};
    }
  }
  return 0;
}

bool CannotDoWithout(const void* code) {
  static const Libraries libraries = [] {
    Libraries found;
    dl_iterate_phdr(AddLibrary, &found);
    return found;
  }();
  const auto place = reinterpret_cast<uintptr_t>(code);
  return std::any_of(
      libraries.ranges.begin(), libraries.ranges.begin() + libraries.count,
      [place](const Libraries::Range& range) { return place >= range.begin && place < range.end; });
}

// Evenly spread (the finaliser of splitmix64).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Counts an allocation, by the code of `caller` where that is known, and says whether it fails.
bool Fails(const void* caller = nullptr) {
  if (!counting.load(std::memory_order_relaxed) || CannotDoWithout(caller)) {
    return false;
  }
  if (const auto is_spared = spares.load(); is_spared != nullptr && is_spared()) {
    return false;
  }
  const int64_t number = allocations.fetch_add(1, std::memory_order_relaxed);
  const int64_t rate = one_in.load();
  const int64_t after = number - first_failure.load();
  const bool fails =
      rate > 0 ? Mix(seed.load() + static_cast<uint64_t>(number)) % static_cast<uint64_t>(rate) == 0
               : after >= 0 && after < failures.load();
  if (fails) {
    errno = ENOMEM;
  }
  return fails;
}

}  // namespace

FailingAllocations::FailingAllocations(int64_t first, int64_t count) {
  allocations = 0;
  first_failure = first;
  failures = count;
  one_in = 0;
  spares = nullptr;
  counting = true;
}

FailingAllocations::FailingAllocations(const SeldomFailures& seldom) {
  allocations = 0;
  one_in = seldom.one_in;
  seed = Mix(seldom.seed);
  spares = seldom.spares;
  counting = true;
}

FailingAllocations::~FailingAllocations() { counting = false; }

int64_t FailingAllocations::seen() { return allocations; }

}  // namespace mercer

#ifdef MERCER_SANITIZED

namespace {

void* NewOrThrow(size_t size, size_t alignment) {
  const size_t rounded = (std::max<size_t>(size, 1) + alignment - 1) / alignment * alignment;
  while (true) {
    void* const made = mercer::Fails() ? nullptr : std::aligned_alloc(alignment, rounded);
    if (made != nullptr) {
      return made;
    }
    if (std::get_new_handler() == nullptr) {
      throw std::bad_alloc();
    }
    std::get_new_handler()();
  }
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

namespace {

// What is read before it is written shows then: no pointer looks like that.
void* Fill(void* made, size_t size) {
  constexpr size_t kMostFilled = 4096;
  if (made != nullptr && mercer::counting.load(std::memory_order_relaxed)) {
    std::memset(made, 0xa5, std::min(size, kMostFilled));
  }
  return made;
}

}  // namespace

// The C library's own, under other names.
extern "C" {
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t size);       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)

void* malloc(size_t size) {
  return mercer::Fails(__builtin_return_address(0)) ? nullptr : Fill(__libc_malloc(size), size);
}
void* calloc(size_t count, size_t size) {
  return mercer::Fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  return mercer::Fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  return mercer::Fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
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
