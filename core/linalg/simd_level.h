// Which instructions the kernels of this process use.
#pragma once

namespace mercer {

// Restricts the kernels to the instructions that every x86-64 processor has, so that every machine
// computes the same bits. Call it before anything is computed.
void UseCommonInstructions();

}  // namespace mercer
