// A bounded parallel loop. Work is cut into blocks whose bounds depend on the range and the block
// size only, never on the number of threads; reductions write one slot per block and are summed in
// block order by the caller. So the result has the same bits for every number of threads.
#pragma once

#include <functional>
#include <memory>

#include "core/base/numeric/types.h"

namespace mercer {

class ParallelLoop {
 public:
  // A loop that uses at most `num_threads` threads, the calling one included; values below 1 count
  // as 1. Also sets OpenBLAS to one thread for the process: parallelism is this class's business,
  // and a threaded BLAS changes sums with its threads.
  explicit ParallelLoop(int num_threads = 1);
  ~ParallelLoop();
  ParallelLoop(const ParallelLoop&) = delete;
  ParallelLoop& operator=(const ParallelLoop&) = delete;

  int num_threads() const { return num_threads_; }

  // Calls body(begin, end) for the blocks [0, block), [block, 2 block), ... of [0, size), in any
  // order, concurrently; block >= 1. Returns when all calls have returned. What `body` throws is
  // thrown again here.
  void ForBlocks(Index size, Index block,
                 const std::function<void(Index begin, Index end)>& body) const;

 private:
  class Arena;
  int num_threads_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace mercer
