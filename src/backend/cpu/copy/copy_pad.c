/* SPDX-License-Identifier: Apache-2.0 */
/* copy_pad.c - pad in every mode. What is kept is copied to its place; then each axis, the last one first, gets its
 * borders from places of the output that are filled already. Pads are read when it runs. Of blocked tensors images and
 * planes are padded, and what is put around them is zero, where channels do not fill their blocks. */
#include "backend/cpu/copy/copy.h"
#include "tensor/element.h"

enum { PADS = 1, VALUE, AXES };

typedef struct state {
  char mode; /* the first letter of its word */
} state;

static const char *check_blocked(const hone_query *query) {
  const hone_type *x = &query->in[0].type;
  const hone_tensor *pads = query->in[PADS].constant;
  const int64_t count = hn_elems(&query->in[PADS].type.shape) / 2;
  if (x->shape.rank >= HONE_MAX_RANK) return "it has too many axes beside its blocks";
  if (!pads || hn_cpu_given(query, AXES)) return "which axes are padded is data-dependent";
  if (hn_int(pads, 1) != 0 || hn_int(pads, 1 + count) != 0) return "channels are padded";
  if (hn_attr_text(query->attrs, "mode")[0] != 'c' || !hn_cpu_given(query, VALUE)) return NULL;
  const hone_tensor *value = query->in[VALUE].constant;
  if (x->shape.dim[1] % hn_format_block(x->format) == 0) return NULL;
  return value && hn_elems(&value->type.shape) == 1 && hn_real(value, 0) == 0
             ? NULL
             : "what it pads with would stand behind the last channel, too";
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const char *reason = hn_cpu_check(query, 2, 4, 1);
  if (!reason) reason = hn_cpu_check_moves(query, true);
  if (!reason) reason = hn_cpu_check_held(query);
  if (reason) return reason;
  const hone_shape *shape = &query->in[0].type.shape;
  if (shape->rank != query->out[0].type.shape.rank) return "the output has another rank";
  HN_TRY_REASON(hn_cpu_check_list(query, PADS, 2 * HONE_MAX_RANK));
  if (hn_cpu_given(query, AXES)) HN_TRY_REASON(hn_cpu_check_list(query, AXES, shape->rank));
  const int64_t axes = hn_cpu_given(query, AXES) ? hn_elems(&query->in[AXES].type.shape) : shape->rank;
  if (hn_elems(&query->in[PADS].type.shape) != 2 * axes) return "pads have another length";
  if (hn_cpu_given(query, VALUE) &&
      (query->in[VALUE].type.dtype != query->in[0].type.dtype || hn_elems(&query->in[VALUE].type.shape) > 1))
    return "the constant is not one element of the data's type";
  if (query->in[0].type.format != HONE_PLAIN) HN_TRY_REASON(check_blocked(query));
  state *s = memory;
  needs->state = sizeof *s;
  if (s) s->mode = hn_attr_text(query->attrs, "mode")[0];
  return NULL;
}

/* Of one axis: [from, from + count) of the input is kept and begins at `begin` of the output. */
typedef struct kept {
  int64_t from, count, begin;
} kept;

static hone_status read_pads(const hone_launch *launch, char mode, kept *axes) {
  const hone_shape *in = &launch->in[0].type.shape, *out = &launch->out[0].type.shape;
  const bool named = launch->in_count > AXES && launch->in[AXES].type.kind != HONE_ABSENT;
  const int64_t count = hn_elems(&launch->in[PADS].type.shape) / 2;
  bool seen[HONE_MAX_RANK] = {false};
  for (int d = 0; d < in->rank; ++d) axes[d] = (kept){.count = in->dim[d]};
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = named ? hn_int(&launch->in[AXES], i) : i;
    const int64_t before = hn_int(&launch->in[PADS], i), after = hn_int(&launch->in[PADS], i + count);
    if (axis < -in->rank || axis >= in->rank)
      return HN_FAIL(launch->diagnostics, HONE_MALFORMED, "axes[%lld] is %lld, but the rank is %d", (long long)i,
                     (long long)axis, in->rank);
    if (axis < 0) axis += in->rank;
    const int64_t dim = in->dim[axis], limit = (int64_t)1 << 40;
    if (seen[axis] || before > limit || after > limit || before < -dim || after < -dim)
      return HN_FAIL(launch->diagnostics, HONE_MALFORMED, "the pads of axis %lld are out of range", (long long)axis);
    seen[axis] = true;
    kept *k = &axes[axis];
    *k = (kept){.from = before < 0 ? -before : 0, .begin = before > 0 ? before : 0};
    k->count = dim - k->from + (after < 0 ? after : 0);
    if (k->count < 0) k->count = 0;
    if (dim + before + after != out->dim[axis] || (k->count == 0 && mode != 'c' && out->dim[axis] > 0) ||
        k->begin + k->count > out->dim[axis])
      return HN_FAIL(launch->diagnostics, HONE_MALFORMED, "the pads of axis %lld do not give its extent %lld",
                     (long long)axis, (long long)out->dim[axis]);
  }
  for (int d = 0; d < in->rank; ++d)
    if (!seen[d] && out->dim[d] != in->dim[d])
      return HN_FAIL(launch->diagnostics, HONE_MALFORMED, "axis %d is not padded, but its extent changes", d);
  return HONE_OK;
}

/* The kept place, counted from the first kept one, that place `at` outside [0, count) repeats. */
static int64_t repeated(char mode, int64_t at, int64_t count) {
  if (mode == 'e') return at < 0 ? 0 : count - 1;
  if (count == 1) return 0;
  const int64_t period = mode == 'w' ? count : 2 * (count - 1);
  int64_t turn = at % period;
  if (turn < 0) turn += period;
  return turn < count ? turn : period - turn;
}

/* Extents as they lie in memory: channel blocks, and the lanes of one behind the planes. */
static hone_shape stored(const hone_type *type) {
  hone_shape shape = type->shape;
  const int block = hn_format_block(type->format);
  if (block == 1) return shape;
  shape.dim[1] = hn_ceil_div(shape.dim[1], block);
  shape.dim[shape.rank++] = block;
  return shape;
}

/* Fills the borders of one axis: over what is kept of the axes before it, and all of those behind it. */
static void fill_borders(hone_stream *stream, const hone_tensor *out, const kept *axes, int axis, char mode) {
  const hone_shape shape = stored(&out->type);
  const int rank = shape.rank, bytes = hn_cpu_element_bytes(out->type.dtype);
  int64_t stride[HONE_MAX_RANK], dim[HONE_MAX_RANK], base = 0;
  hn_strides(&shape, stride);
  for (int d = 0; d < rank; ++d) {
    dim[d] = d < axis ? axes[d].count : d == axis ? 1 : shape.dim[d];
    if (d < axis) base += axes[d].begin * stride[d];
  }
  hn_copy_plan plan;
  hn_copy_plan_make(&plan, rank, dim, stride, stride, bytes);
  const kept *k = &axes[axis];
  char *data = (char *)out->data + base * bytes;
  for (int64_t at = 0; at < shape.dim[axis]; ++at) {
    if (at >= k->begin && at < k->begin + k->count) continue;
    const int64_t source = k->begin + repeated(mode, at - k->begin, k->count);
    hn_cpu_copy(stream, &plan, data + source * stride[axis] * bytes, data + at * stride[axis] * bytes);
  }
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  const hone_tensor *in = &launch->in[0], *out = &launch->out[0];
  const hone_shape in_stored = stored(&in->type), out_stored = stored(&out->type);
  const int rank = in_stored.rank, bytes = hn_cpu_element_bytes(in->type.dtype);
  kept axes[HONE_MAX_RANK];
  HN_TRY(read_pads(launch, s->mode, axes));
  if (in->type.format != HONE_PLAIN) { /* whole blocks of channels */
    axes[1] = (kept){.count = in_stored.dim[1]};
    axes[rank - 1] = (kept){.count = in_stored.dim[rank - 1]};
  }
  const int64_t elements = hn_elems(&out_stored);
  if (elements == 0) return HONE_OK;
  if (s->mode == 'c') {
    static const uint64_t zero = 0;
    const bool given = launch->in_count > VALUE && launch->in[VALUE].type.kind != HONE_ABSENT &&
                       hn_elems(&launch->in[VALUE].type.shape) == 1;
    hn_cpu_fill(stream, out->data, given ? launch->in[VALUE].data : &zero, bytes, elements);
  }
  int64_t from[HONE_MAX_RANK], to[HONE_MAX_RANK], dim[HONE_MAX_RANK], from_base = 0, to_base = 0;
  hn_strides(&in_stored, from);
  hn_strides(&out_stored, to);
  for (int d = 0; d < rank; ++d) {
    dim[d] = axes[d].count;
    if (dim[d] == 0) return HONE_OK; /* only the constant is left */
    from_base += axes[d].from * from[d];
    to_base += axes[d].begin * to[d];
  }
  hn_copy_plan plan;
  hn_copy_plan_make(&plan, rank, dim, from, to, bytes);
  hn_cpu_copy(stream, &plan, (const char *)in->data + from_base * bytes, (char *)out->data + to_base * bytes);
  for (int d = rank - 1; d >= 0 && s->mode != 'c'; --d) fill_borders(stream, out, axes, d, s->mode);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_copy_pad[] = {
    {sizeof(hone_tactic), .name = "cpu.pad.any.c", .version = 1, .op = "pad", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW16C, HONE_NCHW16C},
                  {HONE_NCHW8C, HONE_NCHW8C},
                  {HONE_NCHW64C, HONE_NCHW64C}},
     .plan = plan, .launch = launch},
    {sizeof(hone_tactic), .name = "cpu.pad.halves.c", .version = 1, .op = "pad", .flags = HONE_TACTIC_REPEATABLE,
     .storages = {{HONE_BF16_PLAIN, HONE_BF16_PLAIN},
                  {HONE_BF16_NCHW32C, HONE_BF16_NCHW32C},
                  {HONE_F16_PLAIN, HONE_F16_PLAIN},
                  {HONE_F16_NCHW32C, HONE_F16_NCHW32C}},
     .plan = plan, .launch = launch},
    {0}};
