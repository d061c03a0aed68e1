/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - how attention and qkv_attention are read, for rows of every type. */
#ifndef HN_BACKEND_CUDA_ATTENTION_ATTENTION_H
#define HN_BACKEND_CUDA_ATTENTION_ATTENTION_H

#include "backend/cuda/cuda.h"
#include "kernels/cuda/args.h"

typedef struct hn_cuda_attention_call {
  hn_cuda_attention args;
  hn_cuda_grid grid;  /* heads and batches */
  int mask_port;      /* -1: none */
  int64_t k_at, v_at; /* qkv_attention: elements from a row's queries to its keys and values; else -1 */
} hn_cuda_attention_call;

/* NULL, or why not: activations are plain and of the row's type, f32 or the halves that it multiplies in. */
typedef const char *hn_cuda_attention_reader(const hone_query *query, hn_cuda_attention_call *call);
hn_cuda_attention_reader hn_cuda_attention_read, hn_cuda_attention_read_qkv;
/* What a row's kernel is. */
typedef struct hn_cuda_attention_row {
  hn_cuda_attention_reader *read;
} hn_cuda_attention_row;
/* Reads by it, and asks for what all kernels over halves need; then args.vectors says whether a mask is the same for
 * all rows, and can be read eight at a time. */
const char *hn_cuda_attention_read_halves(const hone_query *query, hn_cuda_attention_call *call);
/* Of a launch: its queries, keys, values and mask, or NULL. */
typedef struct hn_cuda_attention_operands {
  const uint16_t *q, *k, *v, *mask;
} hn_cuda_attention_operands;
hn_cuda_attention_operands hn_cuda_attention_of_halves(const hn_cuda_attention_call *call, const hone_launch *launch);
/* Everything that is added to an address, ored: whether what is read at once is aligned. */
long long hn_cuda_attention_steps(const hn_cuda_attention_call *call);

#endif
