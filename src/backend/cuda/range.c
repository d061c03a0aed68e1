/* SPDX-License-Identifier: Apache-2.0 */
/* range.c - names for what is launched, as NVTX ranges: Nsight Systems and Nsight Compute show layers by them. NVTX is
 * a header without a library; a profiler that listens puts itself into its table at the first call, else that is empty.
 */
#include "backend/cuda/cuda.h"
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

void hn_cuda_range(const char *name) {
  if (name)
    (void)nvtxRangePushA(name);
  else
    (void)nvtxRangePop();
}
#else
void hn_cuda_range(const char *name) { (void)name; }
#endif
