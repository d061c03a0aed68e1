/* SPDX-License-Identifier: Apache-2.0 */
/* adapt.c - what the lists of an ONNX row cannot say: forms of operators that later opsets gave up. One row each at the
 * end; an adapter changes the call before its node is made, or makes nodes itself. Source: the ONNX operator
 * specifications of the opsets named. */
#include "base/hash.h"
#include "import/importer.h"
#include "import/ml.h"
#include <inttypes.h>
#include <string.h>

static int64_t take_int(hn_import_call *call, const char *name, int64_t otherwise) {
  hone_attr attr;
  if (!hn_import_take_attr(call, name, &attr)) return otherwise;
  return attr.kind == HONE_ATTR_INT ? attr.i : otherwise;
}

static const hone_shape *shape_of(const hn_import_call *call, int input) {
  static const hone_shape unknown = {.rank = -1};
  return input < call->in_count && call->in[input] ? &call->in[input]->fact.type.shape : &unknown;
}

static hone_status set_axis(hn_import_call *call, int64_t axis) {
  const hone_attr attr = {.name = "axis", .kind = HONE_ATTR_INT, .i = axis};
  return hn_import_add_attr(call, &attr);
}

/* Opsets 1 to 6: with broadcast = 1, b's axes lie at a's axes from `axis` on (default: at the end). Numpy's rule, which
 * the rows follow, wants them at the end: axes of one element are added after them. */
static hone_status legacy_broadcast(hn_import_call *call) {
  hn_importer *importer = call->importer;
  const bool broadcast = take_int(call, "broadcast", 0) != 0;
  hone_attr given;
  if (!hn_import_take_attr(call, "axis", &given) || !broadcast || call->in_count < 2) return HONE_OK;
  const int a = shape_of(call, 0)->rank, b = shape_of(call, 1)->rank;
  if (a < 0 || b < 0)
    return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "it broadcasts along axis %" PRId64 " of a value of unknown rank",
                   given.i);
  const int64_t axis = given.i < 0 ? given.i + a : given.i;
  if (axis < 0 || axis > a)
    return HN_FAIL(importer->diag, HONE_MALFORMED, "axis is %" PRId64 ", but the first input has rank %d", given.i, a);
  const int64_t missing = a - b - axis;
  if (missing <= 0) return HONE_OK; /* at the end already; a shape that does not fit is the row's to refuse */
  int64_t axes[HONE_MAX_RANK];
  for (int64_t i = 0; i < missing; ++i) axes[i] = b + i;
  hn_value *in[2] = {call->in[1], hn_constant_int(importer->graph, "axes", 1, missing, axes)};
  if (!in[1]) return HONE_NO_MEMORY;
  return hn_import_make(call, "unsqueeze", 2, in, 0, NULL, &call->in[1]);
}

/* Opsets 1 to 12: the input counts as a matrix, cut before `axis` (default 1); the second half is normalised as one. */
static hone_status legacy_softmax(hn_import_call *call) {
  hn_importer *importer = call->importer;
  const int64_t given = take_int(call, "axis", 1);
  const hone_shape *shape = shape_of(call, 0);
  if (call->in_count < 1 || !call->in[0]) return HN_FAIL(importer->diag, HONE_MALFORMED, "it has no input");
  if (shape->rank < 0 && given < 0)
    return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "axis is %" PRId64 " and the input's rank is not known", given);
  const int64_t axis = given < 0 ? given + shape->rank : given;
  if (shape->rank >= 0 && (axis < 0 || axis >= (shape->rank > 0 ? shape->rank : 1)))
    return HN_FAIL(importer->diag, HONE_MALFORMED, "axis is %" PRId64 ", but the input has rank %d", given,
                   shape->rank);
  bool single = shape->rank > 0; /* only one axis of that half has more than one element */
  int64_t long_axis = axis;
  for (int64_t i = axis, many = 0; i < shape->rank; ++i) {
    if (shape->dim[i] == 1) continue;
    long_axis = i;
    single &= ++many <= 1;
  }
  if (single) return set_axis(call, long_axis);
  hn_value *input = call->in[0], *matrix, *sizes, *normal;
  const hone_attr cut = {.name = "axis", .kind = HONE_ATTR_INT, .i = axis};
  const hone_attr last = {.name = "axis", .kind = HONE_ATTR_INT, .i = 1};
  HN_TRY(hn_import_make(call, "flatten", 1, &input, 1, &cut, &matrix));
  HN_TRY(hn_import_make(call, call->op->name, 1, &matrix, 1, &last, &normal));
  HN_TRY(hn_import_make(call, "shape", 1, &input, 0, NULL, &sizes));
  call->op = hn_op_find(importer->context->ops, "reshape");
  if (!call->op) return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "it needs the operator reshape, which is missing");
  call->attr_count = 0;
  call->in_count = 0;
  HN_TRY(hn_import_set_input(call, 0, normal));
  return hn_import_set_input(call, 1, sizes);
}

/* Opsets 1 to 8: with spatial = 0 every activation has moments of its own. More than one output means training. */
static hone_status legacy_batch_norm(hn_import_call *call) {
  hn_importer *importer = call->importer;
  const hone_shape *shape = shape_of(call, 0);
  const bool per_channel = take_int(call, "spatial", 1) != 0 || shape->rank == 2;
  if (!per_channel) return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "attribute spatial is 0");
  for (int i = 1; i < call->out_count; ++i) {
    if (*call->out_names[i])
      return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "output \"%s\" exists in training only", call->out_names[i]);
  }
  if (call->out_count > 1) call->out_count = 1;
  return HONE_OK;
}

/* Opsets 1 to 5 name the element type in words: TensorProto.DataType, in the order of its numbers from 1 on. */
static hone_status legacy_cast(hn_import_call *call) {
  static const char *const names[] = {"FLOAT",  "UINT8", "INT8",    "UINT16", "INT16",  "INT32",  "INT64",
                                      "STRING", "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64"};
  hone_attr *to = hn_import_find_attr(call, "to");
  if (!to || to->kind != HONE_ATTR_STRING) return HONE_OK;
  for (size_t i = 0; i < HN_COUNT(names); ++i) {
    if (strcmp(to->s, names[i]) != 0) continue;
    *to = (hone_attr){.name = "to", .kind = HONE_ATTR_INT, .i = (int64_t)i + 1};
    return HONE_OK;
  }
  return HN_FAIL(call->importer->diag, HONE_MALFORMED, "attribute to is \"%s\", which is not an element type", to->s);
}

/* An operator that draws and has no seed gets one, by the name of what it makes: no two draw the same numbers. */
static hone_status give_seed(hn_import_call *call) {
  const uint64_t hash = hn_hash_text(call->out_count > 0 ? call->out_names[0] : "");
  const hone_attr seed = {.name = "seed", .kind = HONE_ATTR_FLOAT, .f = (double)(hash >> 40)}; /* a whole float */
  return hn_import_find_attr(call, "seed") ? HONE_OK : hn_import_add_attr(call, &seed);
}

/* The approximation is an operator of its own here. */
static hone_status gelu(hn_import_call *call) {
  hone_attr attr;
  if (!hn_import_take_attr(call, "approximate", &attr)) return HONE_OK;
  if (attr.kind == HONE_ATTR_STRING && strcmp(attr.s, "none") == 0) return HONE_OK;
  if (attr.kind != HONE_ATTR_STRING || strcmp(attr.s, "tanh") != 0)
    return HN_FAIL(call->importer->diag, HONE_MALFORMED, "attribute approximate must be \"none\" or \"tanh\"");
  call->op = hn_op_find(call->importer->context->ops, "gelu_tanh");
  return call->op ? HONE_OK : HN_FAIL(call->importer->diag, HONE_UNSUPPORTED, "the operator gelu_tanh is missing");
}

/* An expression has room for 32 inputs: more are joined in groups first. Of sums, largest and smallest ones. */
static hone_status many_inputs(hn_import_call *call) {
  enum { MOST = 32, GROUP = 16 };
  while (call->in_count > MOST) {
    int made = 0;
    for (int i = 0; i < call->in_count; i += GROUP) {
      const int count = call->in_count - i < GROUP ? call->in_count - i : GROUP;
      hn_value *joined = call->in[i];
      if (count > 1) HN_TRY(hn_import_make(call, call->op->name, count, &call->in[i], 0, NULL, &joined));
      call->in[made++] = joined;
    }
    call->in_count = made;
  }
  return HONE_OK;
}

static const hn_adapter adapters[] = {
    {"gelu", "approximate", gelu},
    {"legacy_batch_norm", "spatial", legacy_batch_norm},
    {"legacy_broadcast", "axis broadcast", legacy_broadcast},
    {"legacy_cast", "", legacy_cast},
    {"legacy_softmax", "axis", legacy_softmax},
    {"many_inputs", "", many_inputs},
    {"random", "", give_seed},
};

const hn_adapter *hn_adapter_find(const char *name) {
  for (size_t i = 0; i < HN_COUNT(adapters); ++i) {
    if (hn_name_equal(adapters[i].name, name)) return &adapters[i];
  }
  static const hn_adapter *const lists[] = {hn_contrib_adapters,
                                            hn_contrib_attention_adapters,
                                            hn_contrib_layer_adapters,
                                            hn_contrib_part_adapters,
                                            hn_contrib_table_adapters,
                                            hn_list_adapters,
                                            hn_ml_adapters,
                                            hn_ml_svm_adapters,
                                            hn_ml_tree_adapters,
                                            hn_flex_adapters,
                                            hn_training_adapters,
                                            hn_experimental_adapters};
  for (size_t i = 0; i < HN_COUNT(lists); ++i)
    for (const hn_adapter *adapter = lists[i]; adapter->name; ++adapter)
      if (hn_name_equal(adapter->name, name)) return adapter;
  return NULL;
}
