/* SPDX-License-Identifier: Apache-2.0 */
/* embedding_norm.c - a plug-in that replaces operators of ONNX: LayerNormalization behind Gather, rows of a constant
 * table, becomes one operator. Its rewrite says what is replaced; its kernel's pack normalises the table when the
 * engine is built, since all of it is constant, so that a run only copies rows. HONE_REWRITE_FUSES: the two layers stay
 * as parts, and the tuner runs those where they are faster. */
#include "example.h"
#include <math.h>

/* table [V, D], ids [...] -> [..., D] */
static hone_status infer(hone_infer *infer) {
  const hone_shape *ids = &infer->in[1].type.shape, *of_table = &infer->in[0].type.shape;
  hone_type *out = &infer->out[0].type;
  if (ids->rank < 0 || of_table->rank != 2 || ids->rank == HONE_MAX_RANK) return HONE_OK; /* not known */
  out->shape = *ids;
  out->shape.dim[out->shape.rank++] = of_table->dim[1];
  return HONE_OK;
}

/* Row `from` of the table, normalised. */
static void normalise(const float *from, const float *scale, const float *bias, int64_t size, double epsilon,
                      float *to) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < size; ++i) sum += (double)from[i];
  const double mean = sum / (double)size;
  for (int64_t i = 0; i < size; ++i) squares += ((double)from[i] - mean) * ((double)from[i] - mean);
  const double factor = 1 / sqrt(squares / (double)size + epsilon);
  for (int64_t i = 0; i < size; ++i)
    to[i] = (float)(((double)from[i] - mean) * factor * (double)scale[i] + (double)bias[i]);
}

/* ONNX counts negative indices from the end. -1: there is no such row. */
static int64_t row_of(int64_t id, int64_t row_count) {
  const int64_t row = id < 0 ? id + row_count : id;
  return row >= 0 && row < row_count ? row : -1;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const hone_shape *of_table = &eval->in[0].type.shape;
  hone_shape shape = eval->in[1].type.shape;
  const int64_t count = count_of(&shape), size = of_table->dim[1];
  shape.dim[shape.rank++] = size;
  const hone_status status = make_room(eval, shape.rank, shape.dim);
  if (status != HONE_OK || size == 0) return status;
  const int64_t first = window ? window->first / size : 0, last = window ? (window->last + size - 1) / size : count;
  for (int64_t i = first; i < last; ++i) {
    const int64_t row = row_of(((const int64_t *)eval->in[1].data)[i], of_table->dim[0]);
    if (row < 0) return HONE_INVALID;
    normalise((const float *)eval->in[0].data + row * size, eval->in[2].data, eval->in[3].data, size,
              float_attr(eval->attrs, "epsilon"), (float *)eval->out[0].data + i * size);
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs, (void)in, (void)in_count, (void)out_count;
  const double elements = (double)count_of(&out[0].type.shape);
  return (hone_cost){.bytes_read = 4 * elements, .bytes_written = 4 * elements};
}

static const hone_op embedding_norm = {
    .struct_size = sizeof(hone_op),
    .name = "embedding_norm",
    .doc = "rows of a table, normalised",
    .in = {{.name = "table", .letter = 'T', .types = HONE_BIT(HONE_F32), .flags = HONE_PORT_PARAM},
           {.name = "ids", .types = HONE_BIT(HONE_I64)},
           {.name = "scale", .letter = 'T', .types = HONE_BIT(HONE_F32), .flags = HONE_PORT_PARAM},
           {.name = "bias", .letter = 'T', .types = HONE_BIT(HONE_F32), .flags = HONE_PORT_PARAM}},
    .out = {{.name = "y", .letter = 'T'}},
    .attr = {HONE_FLOAT_ATTR("epsilon", 1e-5)},
    .infer = infer,
    .eval = eval,
    .cost = cost,
};

/* ---- what it replaces ---- */

static const hone_fact *fact_of(const hone_rewrite_match *match, const char *name) {
  for (int i = 0; i < match->bound_count; ++i)
    if (strcmp(match->bound[i].name, name) == 0) return match->bound[i].fact;
  return NULL;
}

static const char *when_rows(const hone_rewrite_match *match) {
  const hone_shape *of_table = &fact_of(match, "table")->type.shape;
  if (of_table->rank != 2) return "the table is not a matrix";
  if (fact_of(match, "ids")->type.dtype != HONE_I64) return "the indices are not i64";
  const bool fits = count_of(&fact_of(match, "scale")->type.shape) == of_table->dim[1] &&
                    count_of(&fact_of(match, "bias")->type.shape) == of_table->dim[1];
  return fits ? NULL : "scale or bias is broadcast";
}

static const hone_rewrite gather_norm = {
    .struct_size = sizeof(hone_rewrite),
    .name = "gather_norm",
    .find = "n:layer_norm[axis=-1](gather[axis=0](table:const, ids), scale:const, bias:const)",
    .put = "embedding_norm[epsilon=n.epsilon](table, ids, scale, bias)",
    .when = when_rows,
    .why = "rows of a constant table can be normalised beforehand",
    .flags = HONE_REWRITE_FUSES,
};

/* ---- its kernel ---- */

typedef struct state {
  int64_t count, size, row_count;
} state;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const hone_shape *of_table = &query->in[0].type.shape;
  if (!is_plain(&query->in[0].type, HONE_F32) || !is_plain(&query->in[1].type, HONE_I64))
    return "not plain f32 and i64";
  *needs = (hone_needs){.state = sizeof(state), .packed = 4 * (size_t)count_of(of_table), .efficiency = 0.8};
  if (memory)
    *(state *)memory =
        (state){.count = count_of(&query->in[1].type.shape), .size = of_table->dim[1], .row_count = of_table->dim[0]};
  return NULL;
}

static hone_status pack(const hone_query *query, void *to) {
  const hone_tensor *table = query->in[0].constant;
  const int64_t row_count = table->type.shape.dim[0], size = table->type.shape.dim[1];
  for (int64_t row = 0; row < row_count; ++row)
    normalise((const float *)table->data + row * size, query->in[2].constant->data, query->in[3].constant->data, size,
              float_attr(query->attrs, "epsilon"), (float *)to + row * size);
  return HONE_OK;
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = memory;
  const int64_t *ids = launch->in[1].data;
  float *y = launch->out[0].data;
  (void)stream;
  for (int64_t i = 0; i < s->count; ++i) {
    const int64_t row = row_of(ids[i], s->row_count);
    if (row < 0) return HONE_INVALID;
    memcpy(y + i * s->size, (const float *)launch->packed + row * s->size, 4 * (size_t)s->size);
  }
  return HONE_OK;
}

static const hone_tactic embedding_norm_cpu = {.struct_size = sizeof(hone_tactic),
                                               .name = "example.embedding_norm.f32",
                                               .version = 1,
                                               .op = "embedding_norm",
                                               .flags = HONE_TACTIC_REPEATABLE,
                                               .pack_mask = 1 << 0 | 1 << 2 | 1 << 3,
                                               .plan = plan,
                                               .pack = pack,
                                               .launch = launch};

static const hone_op *const ops[] = {&embedding_norm, NULL};
static const hone_plugin_tactic tactics[] = {{"cpu", &embedding_norm_cpu}, {NULL, NULL}};
static const hone_rewrite *const rewrites[] = {&gather_norm, NULL};
static const hone_plugin_table table = {.struct_size = sizeof(hone_plugin_table),
                                        .name = "embedding_norm",
                                        .version = "1",
                                        .ops = ops,
                                        .tactics = tactics,
                                        .rewrites = rewrites};

HONE_API const hone_plugin_table *hone_plugin(const hone_host *host);
const hone_plugin_table *hone_plugin(const hone_host *host) {
  (void)host;
  return &table;
}
