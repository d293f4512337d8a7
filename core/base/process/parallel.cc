#include "core/base/process/parallel.h"

#include <algorithm>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/background.h"
#include "core/base/process/crash_note.h"

// Weak, so that a program that multiplies no matrices, such as the command line, does not load
// OpenBLAS, whose threads begin then and take signals.
extern "C" void openblas_set_num_threads(int num_threads) __attribute__((weak));

namespace mercer {

class ParallelLoop::Arena {
 public:
  // Never more threads than processors: the result does not depend on their number, only the time
  // does.
  explicit Arena(int num_threads)
      : arena(std::min(num_threads, tbb::info::default_concurrency())) {}
  tbb::task_arena arena;
};

ParallelLoop::ParallelLoop(int num_threads) : num_threads_(std::max(1, num_threads)) {
  if (openblas_set_num_threads != nullptr) {
    openblas_set_num_threads(1);
  }
  if (num_threads_ > 1) {
    arena_ = std::make_unique<Arena>(num_threads_);
  }
}

ParallelLoop::~ParallelLoop() = default;

void ParallelLoop::ForBlocks(Index size, Index block,
                             const std::function<void(Index, Index)>& body) const {
  const Index num_blocks = (size + block - 1) / block;
  // Threads that help work for the same thing as the caller, at its priority.
  const CrashNote* note = CurrentCrashNote();
  const bool background = InBackground();
  const auto run = [&](Index i) {
    const ScopedCrashNote scope(note);
    const ScopedAllocations allocations(Allocations::kMayFail);  // the caller hears of it
    if (background) {
      EnterBackground();
    }
    body(i * block, std::min(size, (i + 1) * block));
  };
  if (arena_ == nullptr || num_blocks <= 1) {
    for (Index i = 0; i < num_blocks; ++i) {
      run(i);
    }
    return;
  }
  arena_->arena.execute(
      [&] { tbb::parallel_for(Index{0}, num_blocks, run, tbb::simple_partitioner()); });
}

}  // namespace mercer
