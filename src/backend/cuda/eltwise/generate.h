/* SPDX-License-Identifier: Apache-2.0 */
/* generate.h - CUDA C of elementwise kernels, as text: needs nothing of CUDA, so that it is tested anywhere. */
#ifndef HN_BACKEND_CUDA_GENERATE_H
#define HN_BACKEND_CUDA_GENERATE_H

#include <hone/backend.h>

enum { HN_CUDA_INPUTS = 12, HN_CUDA_SOURCE_BYTES = 24576, HN_CUDA_TEXT_BYTES = 8192, HN_CUDA_THREADS = 256 };

/* How operands lie: output extents and each input's strides in elements, as few dims as possible; rank 0: all are dense
 * or one element. The output is dense; where its channels are last, rows of `pitch` elements end in zeros from
 * `channels` on. */
typedef struct hn_cuda_places {
  int rank, in_count;
  unsigned count;
  int channels, pitch; /* pitch 0: there is no tail */
  int dim[HONE_MAX_RANK];
  int stride[HN_CUDA_INPUTS][HONE_MAX_RANK]; /* rank 0: [0] is 0 or 1 */
} hn_cuda_places;
/* false: more elements than 31 bits count. strides are the inputs' own, 0 where they are broadcast. */
bool hn_cuda_place(const hone_shape *out, int in_count, const int64_t (*strides)[HONE_MAX_RANK], hn_cuda_places *to);
void hn_cuda_broadcast(const hone_shape *in, const hone_shape *out, int64_t *strides);
/* Numbers that a kernel is given of them: extents, strides input by input, then the tail's pitch and channels. */
int hn_cuda_place_numbers(const hn_cuda_places *places, int *out);
enum { HN_CUDA_PLACE_NUMBERS = HONE_MAX_RANK * (HN_CUDA_INPUTS + 1) + 2 };
/* CUDA C of one elementwise kernel: text is an expression as hone_host.expression writes it, types are C's of the
 * inputs, then of the output; f16 and bf16 are the kernel's own, computed in float. false: it does not fit.
 * *out_per_thread: elements a thread makes. */
bool hn_cuda_generate(const char *text, const hn_cuda_places *places, const char *const *types, char *out, size_t room,
                      int *out_per_thread);

#endif
