/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - what the CPU's tactics share: what plan must check before launch may trust a query, and how work is cut for
 * the pool. */
#ifndef HN_BACKEND_CPU_CPU_H
#define HN_BACKEND_CPU_CPU_H

#include "base/diag.h"
#include "device/host_unit.h"
#include "device/isa.h"
#include "tensor/attrs.h"
#include "tensor/shape.h"
#include <hone/tactic.h>

/* Facts of this machine; needs no privileges and no files. */
void hn_cpu_facts(hone_facts *facts);
/* Facts of a machine on paper (backend/cpu/machines.c); threads 0: its own. INVALID: there is none of that name. */
hone_status hn_cpu_describe(const char *name, int threads, hone_facts *facts, hone_diagnostics *diag);
/* Of facts: cores, ports and lanes, by the CPU's model (backend/cpu/models.c); isa and threads are known. */
void hn_cpu_model(hone_facts *facts);
/* Measures the roofs (about 200 ms). */
hone_status hn_cpu_measure(hone_unit *unit);

/* NULL when the query has between least and most inputs and `outs` outputs at most, all tensors known in size; absent
 * inputs and outputs are fine. */
const char *hn_cpu_check(const hone_query *query, int least, int most, int outs);
bool hn_cpu_is_sized(const hone_fact *fact);           /* absent, or a tensor whose bytes are known */
bool hn_cpu_given(const hone_query *query, int input); /* there, and not absent */
/* The axis attribute as 0 .. rank - 1; -1 when it is out of range. */
int hn_cpu_axis(const hone_query *query, const char *attr, int rank);
/* Elements before, along and behind an axis. */
typedef struct hn_cpu_rows {
  int64_t outer, axis, inner;
} hn_cpu_rows;
hn_cpu_rows hn_cpu_rows_along(const hone_shape *shape, int axis);
/* Of operators that take all elements as a list where they have no axis: the shape, then, and the axis, 0. The axis is
 * looked at while it runs, where extents depend on data. */
hone_status hn_cpu_axis_or_flat(const hone_attrs *attrs, hone_shape *shape, int *out_axis, hone_diagnostics *diag);
/* Elements of a tensor with the padding of its format. */
int64_t hn_cpu_stored(const hone_type *type);
bool hn_cpu_is(const hone_fact *fact, hone_dtype dtype, hone_format format);

/* The type that a row's activations are held in: that of its storages, f32 where they name none. */
hone_dtype hn_cpu_held(const hone_tactic *tactic);
/* The type that such a row computes in, which parameters beside its activations have, too: f64 for f64, else f32. */
hone_dtype hn_cpu_real(const hone_tactic *tactic);
/* A query with activations in the row's held type said to be f32, for readers that know f32 alone; constants too, but
 * not parameters, which stay as the graph has them: beside f64 they are f64 and said to be f32, too. */
enum { HN_CPU_ASKED_INPUTS = 16 };
typedef struct hn_cpu_asked {
  hone_query query;
  hone_fact in[HN_CPU_ASKED_INPUTS], out[HONE_MAX_PORTS];
} hn_cpu_asked;
/* NULL, or the reason against it: an activation in another type than the row's. asked must not move. */
const char *hn_cpu_ask_f32(const hone_query *query, hn_cpu_asked *asked);

/* Of facts, or what stands for those that are not known. */
enum { HN_CPU_DEFAULT_L2_BYTES = 1 << 20 };
int64_t hn_cpu_threads(const hone_facts *facts);
size_t hn_cpu_l2_bytes(const hone_facts *facts);

/* Units that one claim of a pool's thread takes when all of them take total_ns on one thread: a range is worth at
 * least 2 us, and what takes less than 4 us stays in one thread: that is seven times what opening a loop costs. */
int64_t hn_cpu_grain(int64_t units, double total_ns);

/* Into how many parts all planes of `rows` x `width` pixels are cut when the loop's units go through all planes of one
 * part before the next part: so a thread works on the rows that it wrote in the layer before. 1: planes are too small,
 * threads share the planes. */
int64_t hn_cpu_row_parts(const hone_facts *facts, int64_t images, int64_t rows, int64_t width);

/* Rough speeds of one thread, for grains alone. */
#define HN_CPU_NS_PER_BYTE 0.08
#define HN_CPU_NS_PER_FLOP 0.05

/* Where slow units must not keep the others waiting. */
enum { HN_CPU_UNITS_PER_THREAD = 4 };

/* Products of matrices over batch axes that broadcast, as numpy's: steps in matrices, or in what the caller makes of
 * A's; b_matrices: of B, which lie one after the other. */
typedef struct hn_cpu_batch {
  int rank;
  int64_t dim[HONE_MAX_RANK], a_step[HONE_MAX_RANK], b_step[HONE_MAX_RANK], b_matrices;
} hn_cpu_batch;
/* Of shapes of rank 2 and more; false: they do not broadcast. */
bool hn_cpu_batch_of(const hone_shape *a, const hone_shape *b, hn_cpu_batch *out);
/* How many products there are; where the operands of one lie. */
int64_t hn_cpu_batch_count(const hn_cpu_batch *batch);
void hn_cpu_batch_at(const hn_cpu_batch *batch, int64_t product, int64_t *out_a, int64_t *out_b);

/* Workers' buffers begin on cache lines of their own. */
int64_t hn_cpu_whole_lines(int64_t floats);

static inline int64_t hn_cpu_lesser(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t hn_cpu_greater(int64_t a, int64_t b) { return a > b ? a : b; }

/* The share of whole blocks that is not padding. */
static inline double hn_cpu_filled(int64_t count, int64_t block) {
  return count > 0 ? (double)count / (double)((count + block - 1) / block * block) : 1;
}

#endif
