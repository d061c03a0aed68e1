/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise.h - scalar expressions as programs of the elementwise kernels, and where their operands lie. */
#ifndef HN_BACKEND_CPU_ELTWISE_H
#define HN_BACKEND_CPU_ELTWISE_H

#include "backend/cpu/cpu.h"
#include "kernels/cpu/eltwise/eltwise.h"
#include "tensor/expr.h"

enum { HN_ELTWISE_CODE = 3 * HN_EXPR_MAX_STEPS };

typedef struct hn_eltwise_program {
  int count;
  hn_eltwise_instruction code[HN_ELTWISE_CODE];
} hn_eltwise_program;

/* NULL, or why the expression has no program. Input i of the expression is load number i; the result is output 0. type:
 * of the kernel's arithmetic, f32 or f64, which constants are rounded to. */
const char *hn_eltwise_compile(const hn_expr *expr, hone_dtype type, hn_eltwise_program *out);

/* Rows over all operands, as few and as long as broadcasting allows. */
typedef struct hn_eltwise_places {
  int outer_rank;
  int64_t outer_dim[HN_ELTWISE_OUTER_RANK], inner, part;
  int64_t out_stride[HN_ELTWISE_OUTER_RANK];
  int64_t in_stride[HN_ELTWISE_INPUTS][HN_ELTWISE_OUTER_RANK], in_inner[HN_ELTWISE_INPUTS];
  int64_t in_period[HN_ELTWISE_INPUTS]; /* as hn_eltwise_input has it */
  bool by_planes;                       /* a row is the plane of one channel block */
  int64_t blocks, rows_per_block;       /* channel blocks of a blocked output with a tail, and rows of each; else 0 */
  int block, tail;                      /* lanes of a block, and those of them that are channels in the last block */
} hn_eltwise_places;

/* NULL, or why these shapes and formats are not walked. The operands must be dense; an operand of another format than
 * the output's must have one element. */
const char *hn_eltwise_place(const hone_fact *in, int in_count, const hone_type *out, hn_eltwise_places *places);

/* A program made ready. */
typedef struct hn_eltwise_state {
  hn_eltwise_fn *kernel; /* this and element are the caller's to set */
  size_t element;        /* bytes; read where there are lanes behind the last channel */
  hn_eltwise_program program;
  hn_eltwise_places places;
  int in_count;
  int64_t grain;
  int64_t rows, parts; /* parts > 1: units go through all rows' first parts, then the second ones... */
} hn_eltwise_state;

/* Operands as the facts say, all taken for `type`, f32 or f64; facts of the device. NULL, or the reason against it. */
const char *hn_eltwise_plan(const hn_expr *expr, hone_dtype type, const hone_fact *in, int in_count,
                            const hone_type *out, const hone_facts *facts, hn_eltwise_state *state);
void hn_eltwise_run(const hn_eltwise_state *state, hone_stream *stream, const void *const *in, void *out);

#endif
