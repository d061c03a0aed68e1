/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.c - sums of products of two inputs over named axes, read where they lie: what no rule made products of
 * matrices, since only a run tells whether an axis is spread over another. An axis of extent 1 beside a longer one has
 * a step of 0. Axes that lie behind each other in every operand count as one. */
#include "backend/cpu/gemm/gemm_common.h"
#include "tensor/einsum.h"

enum { X, Y, OUT, TERMS };
enum { BATCH, ROWS, COLUMNS, SUMMED, GROUPS }; /* of labels: in x, y and the output, in x and it, in y and it, summed */

typedef struct axis {
  int64_t extent, step[TERMS];
} axis;
typedef struct group {
  int count;
  axis axes[HONE_MAX_RANK];
} group;

/* The axis of a label with its steps in a contiguous tensor; false where the term has no such label. */
static bool find(const hn_einsum_term *term, const hone_shape *shape, int label, int64_t *extent, int64_t *step) {
  int64_t behind = 1;
  for (int i = term->count - 1; i >= 0; behind *= shape->dim[i--]) {
    if (term->label[i] != label) continue;
    *extent = shape->dim[i];
    *step = shape->dim[i] == 1 ? 0 : behind;
    return true;
  }
  return false;
}

/* One more axis, or a longer last one where all operands go on with it. */
static void add(group *g, const axis *next) {
  axis *last = g->count > 0 ? &g->axes[g->count - 1] : NULL;
  bool joins = last != NULL;
  for (int t = X; t < TERMS && joins; ++t) joins = last->step[t] == next->step[t] * next->extent;
  if (!joins) {
    g->axes[g->count++] = *next;
    return;
  }
  last->extent *= next->extent;
  for (int t = X; t < TERMS; ++t) last->step[t] = next->step[t];
}

static const char *read_label(const hone_query *query, const hn_einsum *eq, int label, group *groups) {
  int64_t x = 1, y = 1, out = 1;
  axis a = {0};
  const bool in_x = find(&eq->in[X], &query->in[X].type.shape, label, &x, &a.step[X]);
  const bool in_y = find(&eq->in[Y], &query->in[Y].type.shape, label, &y, &a.step[Y]);
  const bool in_out = find(&eq->out, &query->out[0].type.shape, label, &out, &a.step[OUT]);
  if (in_x && in_y && x != y && x != 1 && y != 1) return "the extents do not fit together";
  a.extent = x > y ? x : y;
  if (in_out && out != a.extent) return "the extents do not fit together";
  if (a.extent == 1) return NULL;
  const bool is_own = a.step[X] == 0 || a.step[Y] == 0; /* spread: as if the other had no such axis */
  if (in_out)
    add(&groups[!is_own ? BATCH : a.step[X] ? ROWS : COLUMNS], &a);
  else if (in_x && in_y)
    add(&groups[SUMMED], &a);
  else
    return "an input alone has what is summed over";
  return NULL;
}

static bool repeats(const hn_einsum_term *term) {
  for (int i = 0; i < term->count; ++i)
    for (int k = 0; k < i; ++k)
      if (term->label[i] == term->label[k]) return true;
  return false;
}

/* Labels in the output's order, then those that are summed over in that of x. */
static const char *read_groups(const hone_query *query, group *groups) {
  hn_einsum eq = {0};
  const int ranks[] = {query->in[X].type.shape.rank, query->in[Y].type.shape.rank};
  if (hn_einsum_read(NULL, hn_attr_text(query->attrs, "equation"), 2, ranks, &eq) != HONE_OK)
    return "its equation cannot be read";
  if (eq.out.count != query->out[0].type.shape.rank) return "the extents do not fit together";
  if (repeats(&eq.in[X]) || repeats(&eq.in[Y])) return "it takes a diagonal";
  for (int i = 0; i < eq.out.count; ++i) {
    HN_TRY_REASON(read_label(query, &eq, eq.out.label[i], groups));
    eq.used[eq.out.label[i]] = false;
  }
  for (int t = X; t <= Y; ++t)
    for (int i = 0; i < eq.in[t].count; ++i) {
      if (!eq.used[eq.in[t].label[i]]) continue;
      HN_TRY_REASON(read_label(query, &eq, eq.in[t].label[i], groups));
      eq.used[eq.in[t].label[i]] = false;
    }
  return NULL;
}

/* The axis that a matrix has of a group; those in front of it become axes of the batch. */
static axis take(group *g, group *batch) {
  axis last = {.extent = 1};
  if (g->count > 0) last = g->axes[--g->count];
  for (int i = 0; i < g->count; ++i) batch->axes[batch->count++] = g->axes[i];
  return last;
}

static const char *read(const hone_query *query, hn_cpu_product *p, hn_cpu_product_ports *ports) {
  group groups[GROUPS] = {{0}};
  hn_gemm_f32 *g = &p->gemm;
  HN_TRY_REASON(hn_cpu_product_check(query, 2));
  for (int i = X; i <= Y; ++i)
    if (hn_elems(&query->in[i].type.shape) == 0) return "an extent is 0";
  HN_TRY_REASON(read_groups(query, groups));
  if (groups[SUMMED].count > 1) return "the axes that are summed over lie apart";
  group *batch = &groups[BATCH];
  /* Rows of C are contiguous: the output's last axis is one of its columns. */
  const int of_x = groups[ROWS].count, of_y = groups[COLUMNS].count;
  ports->swaps = of_x > 0 && groups[ROWS].axes[of_x - 1].step[OUT] == 1;
  if (!ports->swaps && of_y > 0 && groups[COLUMNS].axes[of_y - 1].step[OUT] != 1)
    return "the output's last axis is of both";
  const int a = ports->swaps ? Y : X, b = ports->swaps ? X : Y;
  const axis rows = take(&groups[ports->swaps ? COLUMNS : ROWS], batch);
  const axis columns = take(&groups[ports->swaps ? ROWS : COLUMNS], batch), summed = take(&groups[SUMMED], batch);
  *g = (hn_gemm_f32){.m = rows.extent,
                     .n = columns.extent,
                     .k = summed.extent,
                     .a_row_stride = rows.step[a],
                     .a_column_stride = summed.step[a],
                     .c_row_stride = rows.extent == 1 ? columns.extent : rows.step[OUT]};
  p->b_row_stride = summed.step[b];
  p->b_column_stride = columns.step[b];
  p->is_apart = true;
  p->batch.b_matrices = 1;
  p->batch.rank = batch->count;
  for (int i = batch->count - 1; i >= 0; --i) {
    const axis *at = &batch->axes[i];
    p->batch.dim[i] = at->extent;
    p->batch.a_step[i] = at->step[a];
    p->c_step[i] = at->step[OUT];
    p->b_from[i] = at->step[b];
    p->batch.b_step[i] = at->step[b] ? p->batch.b_matrices : 0;
    if (at->step[b]) p->batch.b_matrices *= at->extent;
  }
  return NULL;
}

#define COMMON .flags = HONE_TACTIC_REPEATABLE, .plan = hn_cpu_product_plan_query, .launch = hn_cpu_product_launch
const hone_tactic hn_tactics_cpu_einsum[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.einsum.f32.14x32.avx512", .version = 1, .op = "einsum", .isa = HONE_ISA_AVX512,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_avx512, read}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.einsum.f32.6x16.avx2", .version = 1, .op = "einsum", .isa = HONE_ISA_AVX2,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_avx2, read}, COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.einsum.f32.4x8.c", .version = 1, .op = "einsum", .isa = HONE_ISA_C,
     .kernel = &(const hn_cpu_product_kernel){&hn_cpu_gemm_c, read}, COMMON},
    {0}};
