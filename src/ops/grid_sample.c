/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sample.c - reads x at places that a grid names in [-1, 1] (Jaderberg et al. 2015). Source: ONNX operator
 * GridSample. The grid's last axis lists the spatial axes from the last to the first. */
#include "ops/common_nn.h"
#include <math.h>

enum { X, GRID };

static char mode_of(const hone_attrs *attrs) { /* n, l or c */
  const char *mode = hn_attr_text(attrs, "mode");
  return mode[0] == 'b' ? mode[2] : mode[0];
}

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_text(infer, "mode", "linear nearest cubic bilinear bicubic")); /* opset 16 wrote bi- */
  HN_TRY(hn_want_text(infer, "padding_mode", "zeros border reflection"));
  HN_TRY(hn_want_rank(infer, X, 3, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, X), *grid = hn_in_shape(infer, GRID);
  if (x->rank < 0) return HONE_OK;
  HN_TRY(hn_want_rank(infer, GRID, x->rank, x->rank));
  if (grid->rank < 0) return HONE_OK;
  HN_TRY(hn_want_dim(infer, GRID, 0, x->dim[0], "the batch size"));
  HN_TRY(hn_want_dim(infer, GRID, -1, x->rank - 2, "the number of spatial axes"));
  int64_t dim[HONE_MAX_RANK] = {x->dim[0], x->dim[1]};
  for (int i = 2; i < x->rank; ++i) dim[i] = grid->dim[i - 1];
  hn_out_shape(infer, 0, x->rank, dim);
  return HONE_OK;
}

typedef struct sampler {
  const hone_tensor *x;
  int spatial;
  const int64_t *dim; /* spatial extents */
  char mode, padding; /* first letters */
  bool corners;
} sampler;

/* Folds a coordinate back at both borders until it lies between them. */
static double reflect(const sampler *s, double at, int64_t dim) {
  const double low = s->corners ? 0 : -0.5, span = s->corners ? (double)dim - 1 : (double)dim;
  if (span <= 0) return 0;
  const double folded = fmod(fabs(at - low), 2 * span);
  return low + (folded > span ? 2 * span - folded : folded);
}

/* Sum over the taps of axes axis..spatial - 1, base being the flat index of the axes before; false in *inside drops. */
static double sample(const sampler *s, const double *place, int axis, int64_t base) {
  static const double a = -0.75;
  if (axis == s->spatial) return hn_real(s->x, base);
  const int64_t dim = s->dim[axis];
  const double at = place[axis], floor_at = floor(at);
  const int64_t first = s->mode == 'n'   ? 0
                        : s->mode == 'l' ? 0
                                         : -1,
                last = s->mode == 'n'   ? 0
                       : s->mode == 'l' ? 1
                                        : 2;
  double sum = 0;
  for (int64_t tap = first; tap <= last; ++tap) {
    double where = s->mode == 'n' ? nearbyint(at) : floor_at + (double)tap, weight = 1;
    const double d = fabs(at - where);
    if (s->mode == 'l') weight = 1 - d;
    if (s->mode == 'c')
      weight = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    if (weight == 0) continue;
    if (s->padding == 'r') where = nearbyint(reflect(s, where, dim));
    if (s->padding == 'z' && (where < 0 || where > (double)dim - 1)) continue;
    const int64_t index = (int64_t)fmin(fmax(where, 0), (double)dim - 1);
    sum += weight * sample(s, place, axis + 1, base * dim + index);
  }
  return sum;
}

/* The grid's number as a coordinate on an axis. */
static double coordinate(const sampler *s, double number, int64_t dim) {
  double at = s->corners ? (number + 1) / 2 * ((double)dim - 1) : ((number + 1) * (double)dim - 1) / 2;
  if (isnan(at)) at = -1;
  at = fmin(fmax(at, -1e9), 1e9); /* so that floor() stays in the range of integers */
  if (s->padding == 'b') at = fmin(fmax(at, 0), (double)dim - 1);
  if (s->padding == 'r' && s->mode != 'c') at = fmin(fmax(reflect(s, at, dim), 0), (double)dim - 1);
  return at;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[X], *grid = &eval->in[GRID];
  const hone_shape *y = &eval->out[0].type.shape;
  const sampler s = {x,
                     x->type.shape.rank - 2,
                     x->type.shape.dim + 2,
                     mode_of(eval->attrs),
                     hn_attr_text(eval->attrs, "padding_mode")[0],
                     hn_attr_int(eval->attrs, "align_corners") != 0};
  int64_t first, last, at[HONE_MAX_RANK];
  double place[HONE_MAX_RANK];
  bool empty = false;
  for (int i = 0; i < s.spatial; ++i) empty |= s.dim[i] == 0;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(y, flat, at);
    int64_t g = at[0];
    for (int i = 0; i < s.spatial; ++i) g = g * y->dim[2 + i] + at[2 + i];
    for (int i = 0; i < s.spatial; ++i)
      place[i] = coordinate(&s, hn_real(grid, g * s.spatial + s.spatial - 1 - i), s.dim[i]);
    hn_store_real(&eval->out[0], flat, empty ? 0 : sample(&s, place, 0, at[0] * x->type.shape.dim[1] + at[1]));
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const char mode = mode_of(attrs);
  const double each = mode == 'n' ? 4 : mode == 'l' ? 12 : 48;
  return hn_cost_work(each * (double)hn_elems(&out[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_grid_sample = {
    .struct_size = sizeof(hone_op),
    .name = "grid_sample",
    .doc = "reads x at places that a grid names",
    .in = {{"x", 't', HONE_TYPES_NUMBER | HONE_TYPES_BOOL, 0}, {"grid", 0, HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("align_corners", 0), HONE_STRING_ATTR("mode", "linear"),
             HONE_STRING_ATTR("padding_mode", "zeros")},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Resize",
    .onnx = {{.name = "GridSample", .first = 16, .last = HONE_LATEST},
             {"GridSample", 1, HONE_LATEST, "com.microsoft", .alias = true}},
};
