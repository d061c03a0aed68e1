/* SPDX-License-Identifier: Apache-2.0 */
/* quant.h - what the tactics on bytes share. */
#ifndef HN_BACKEND_CPU_QUANT_QUANT_H
#define HN_BACKEND_CPU_QUANT_QUANT_H

#include "backend/cpu/cpu.h"

enum { HN_CPU_BYTES_BLOCK = 64 }; /* of HONE_NCHW64C */

static inline bool hn_cpu_is_byte(hone_dtype dtype) { return dtype == HONE_U8 || dtype == HONE_I8; }

/* Kernels take an i8 as the u8 that is greater by 128: this turns one into the other. */
static inline int32_t hn_cpu_flip(hone_dtype dtype) { return dtype == HONE_I8 ? 0x80 : 0; }

/* The first element of a tensor of bytes, as a number. */
int32_t hn_cpu_byte(const hone_tensor *tensor);
/* NULL when input `scale` is one f32 and the next input one zero point of this type. */
const char *hn_cpu_check_scale(const hone_query *query, int scale, hone_dtype dtype);
/* What the attributes low and high leave of output 0's type. */
void hn_cpu_byte_bounds(const hone_query *query, float *low, float *high);
/* The shape of two that broadcast; false: they do not. */
bool hn_cpu_broadcast(const hone_shape *a, const hone_shape *b, hone_shape *out);

#endif
