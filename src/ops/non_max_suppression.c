/* SPDX-License-Identifier: Apache-2.0 */
/* non_max_suppression.c - keeps the best boxes of each class that do not overlap a better one too much.
 * Source: ONNX operator NonMaxSuppression. How many are kept is known only after running. */
#include "ops/common_nn.h"
#include <math.h>
#include <string.h>

enum { BOXES, SCORES, MOST, IOU, LEAST };

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_int(infer, "center_point_box", 0, 1));
  HN_TRY(hn_want_rank(infer, BOXES, 3, 3));
  HN_TRY(hn_want_rank(infer, SCORES, 3, 3));
  HN_TRY(hn_want_dim(infer, BOXES, 2, 4, "the numbers of a box"));
  if (hn_in_rank(infer, BOXES) == 3) {
    HN_TRY(hn_want_dim(infer, SCORES, 0, hn_in_shape(infer, BOXES)->dim[0], "the batch size"));
    HN_TRY(hn_want_dim(infer, SCORES, 2, hn_in_shape(infer, BOXES)->dim[1], "the number of boxes"));
  }
  const int64_t dim[2] = {hn_dim_fresh(infer->dims, "selected", true, INT64_MAX), 3};
  hn_out_shape(infer, 0, 2, dim);
  return HONE_OK;
}

typedef struct box {
  double y0, x0, y1, x1;
} box;

static box box_at(const hone_eval *eval, int64_t at) {
  double n[4];
  for (int i = 0; i < 4; ++i) n[i] = hn_real(&eval->in[BOXES], at * 4 + i);
  if (hn_attr_int(eval->attrs, "center_point_box"))
    return (box){n[1] - n[3] / 2, n[0] - n[2] / 2, n[1] + n[3] / 2, n[0] + n[2] / 2};
  return (box){fmin(n[0], n[2]), fmin(n[1], n[3]), fmax(n[0], n[2]), fmax(n[1], n[3])};
}

/* Area of the intersection over area of the union. */
static double overlap(const box *a, const box *b) {
  const double height = fmin(a->y1, b->y1) - fmax(a->y0, b->y0), width = fmin(a->x1, b->x1) - fmax(a->x0, b->x0);
  const double inner = height > 0 && width > 0 ? height * width : 0;
  const double both = (a->y1 - a->y0) * (a->x1 - a->x0) + (b->y1 - b->y0) * (b->x1 - b->x0) - inner;
  return both > 0 ? inner / both : 0;
}

/* Selects for one class of one image; writes rows from *count on when out is not NULL. */
static void select_class(const hone_eval *eval, int64_t batch, int64_t class, hone_tensor *out, int64_t *count) {
  const int64_t boxes = hn_eval_dim(&eval->in[BOXES], 1), classes = hn_eval_dim(&eval->in[SCORES], 1);
  const int64_t most = hn_eval_given(eval, MOST) ? hn_int(&eval->in[MOST], 0) : 0;
  const double limit = hn_eval_given(eval, IOU) ? hn_real(&eval->in[IOU], 0) : 0;
  const double least = hn_eval_given(eval, LEAST) ? hn_real(&eval->in[LEAST], 0) : -(double)INFINITY;
  const int64_t s0 = (batch * classes + class) * boxes;
  unsigned char *gone = eval->scratch;
  memset(gone, 0, (size_t)boxes);
  for (int64_t kept = 0; kept < most && !hn_eval_stopped(eval); ++kept) {
    int64_t best = -1;
    for (int64_t i = 0; i < boxes; ++i) {
      const double score = hn_real(&eval->in[SCORES], s0 + i);
      if (!gone[i] && score > least && (best < 0 || score > hn_real(&eval->in[SCORES], s0 + best))) best = i;
    }
    if (best < 0) return;
    const int64_t row[3] = {batch, class, best};
    for (int i = 0; out && i < 3; ++i) hn_store_int(out, *count * 3 + i, row[i]);
    ++*count;
    gone[best] = 1;
    const box winner = box_at(eval, batch * boxes + best);
    for (int64_t i = 0; i < boxes; ++i) {
      const box other = box_at(eval, batch * boxes + i);
      if (!gone[i] && overlap(&winner, &other) > limit) gone[i] = 1;
    }
  }
}

static int64_t select_all(const hone_eval *eval, hone_tensor *out) {
  int64_t count = 0;
  for (int64_t batch = 0; batch < hn_eval_dim(&eval->in[SCORES], 0); ++batch)
    for (int64_t class = 0; class < hn_eval_dim(&eval->in[SCORES], 1); ++class)
      select_class(eval, batch, class, out, &count);
  return count;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const hone_shape *boxes = &eval->in[BOXES].type.shape, *scores = &eval->in[SCORES].type.shape;
  (void)window;
  if (boxes->rank != 3 || scores->rank != 3 || boxes->dim[2] != 4 || boxes->dim[0] != scores->dim[0] ||
      boxes->dim[1] != scores->dim[2])
    return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "boxes and scores do not fit together");
  for (int i = MOST; i < eval->in_count; ++i)
    if (hn_eval_given(eval, i) && hn_elems(&eval->in[i].type.shape) < 1)
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "%s is empty", eval->op->in[i].name);
  const int64_t dim[2] = {select_all(eval, NULL), 3};
  if (!eval->out[0].data) HN_TRY(eval->resize(eval, 0, 2, dim));
  if (eval->out[0].type.shape.rank != 2 || eval->out[0].type.shape.dim[0] != dim[0])
    return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "%lld boxes are selected, but the output has another shape",
                   (long long)dim[0]);
  select_all(eval, &eval->out[0]);
  return HONE_OK;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs, (void)in_count, (void)out, (void)out_count;
  return (size_t)in[BOXES].type.shape.dim[1]; /* one flag for each box */
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs, (void)out, (void)out_count;
  return (hone_cost){.flops = 100.0 * (double)hn_elems(&in[SCORES].type.shape),
                     .bytes_read = hn_cost_bytes(in, in_count)};
}

const hone_op hn_op_non_max_suppression = {
    .struct_size = sizeof(hone_op),
    .name = "non_max_suppression",
    .doc = "keeps the best boxes that do not overlap a better one",
    .in = {{"boxes", 0, HONE_BIT(HONE_F32), 0},
           {"scores", 0, HONE_BIT(HONE_F32), 0},
           {"max_output_boxes_per_class", 0, HONE_BIT(HONE_I64), HONE_PORT_OPTIONAL},
           {"iou_threshold", 0, HONE_BIT(HONE_F32), HONE_PORT_OPTIONAL},
           {"score_threshold", 0, HONE_BIT(HONE_F32), HONE_PORT_OPTIONAL}},
    .out = {{"selected_indices", 0, HONE_BIT(HONE_I64), 0}},
    .attr = {HONE_INT_ATTR("center_point_box", 0)},
    .traits = HONE_AFTER_RUN,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .onnx = {{.name = "NonMaxSuppression", .first = 10, .last = HONE_LATEST}},
};
