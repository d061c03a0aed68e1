/* SPDX-License-Identifier: Apache-2.0 */
/* matmul_nbits.h - what the tactics of matmul_nbits share: how a query is read, and what its weights are packed from.
 */
#ifndef HN_BACKEND_CPU_GEMM_MATMUL_NBITS_H
#define HN_BACKEND_CPU_GEMM_MATMUL_NBITS_H

#include "backend/cpu/cpu.h"
#include "base/pool.h"
#include "device/host_unit.h"
#include "kernels/cpu/gemm/gemm_nbits.h"
#include "tensor/attrs.h"
#include "tensor/element.h"
#include "tensor/shape.h"

enum { HN_NBITS_X, HN_NBITS_B, HN_NBITS_SCALES, HN_NBITS_ZEROS, HN_NBITS_BIAS };

/* Extents, blocks and bits of a query that a kernel can take; NULL, or the reason against it. */
const char *hn_nbits_read(const hone_query *query, hn_gemm_nbits *g);
/* What is added to weights and zeros so that both are unsigned. */
int64_t hn_nbits_offset(hone_dtype dtype);

#endif
