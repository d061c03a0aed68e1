/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - declared types. A dim with a name is the symbol of that name; one without is a symbol of its own. */
#include "import/importer.h"
#include "ops/onnx_tensor.h"
#include <ctype.h>
#include <inttypes.h>

static const int64_t most_extent = INT64_C(1) << 40;

static bool is_plain_name(const char *name) {
  for (const char *at = name; *at; ++at) {
    if (!isalnum((unsigned char)*at) && *at != '_') return false;
  }
  return *name && !isdigit((unsigned char)*name);
}

/* Exporters write "?", "" or "-" for a dim that they have no name for: two of those are two dims. */
static bool is_named(const char *name) {
  for (; *name; ++name)
    if (isalnum((unsigned char)*name) || (unsigned char)*name >= 0x80) return true;
  return false;
}

/* Names that are formulas or free text ("2*N", "unk__12 x") get a symbol whose own name can be read back. */
static hone_status named_dim(hn_importer *importer, const char *name, int64_t *out) {
  hone_dims *dims = &importer->graph->dims;
  if (is_plain_name(name)) {
    *out = hn_dim_named(dims, name);
    return HONE_OK;
  }
  int64_t *known = hn_table_get(&importer->params, name);
  if (!known) {
    known = HN_NEW(&importer->arena, int64_t, 1);
    if (!known || !hn_table_put(&importer->params, name, known)) return HN_FAIL_MEMORY(importer->diag);
    *known = hn_dim_fresh(dims, "dim", false, most_extent);
  }
  *out = *known;
  return HONE_OK;
}

static hone_status import_dim(hn_importer *importer, const hn_onnx_dim *dim, bool after_run, int64_t *out) {
  hone_dims *dims = &importer->graph->dims;
  if (dim->has_value && dim->value >= 0) {
    *out = dim->value;
  } else if (after_run || !is_named(dim->param)) {
    *out = hn_dim_fresh(dims, "dim", after_run, most_extent);
  } else {
    HN_TRY(named_dim(importer, dim->param, out));
  }
  return dims->failed ? HN_FAIL_MEMORY(importer->diag) : HONE_OK;
}

static hone_status import_tensor_type(hn_importer *importer, const hn_onnx_tensor_type_of *type, bool after_run,
                                      hone_type *out) {
  out->dtype = hn_dtype_of_onnx(type->elem_type);
  if (out->dtype == HONE_NONE && type->elem_type != 0)
    return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "element type %" PRId64 " is not known", type->elem_type);
  if (!type->shape) return HONE_OK;
  const hn_onnx_dim *dims = type->shape->dims.items;
  if (type->shape->dims.count > HONE_MAX_RANK)
    return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "its rank is %" PRId64 ", at most %d is supported",
                   type->shape->dims.count, HONE_MAX_RANK);
  out->shape.rank = (int32_t)type->shape->dims.count;
  for (int i = 0; i < out->shape.rank; ++i) HN_TRY(import_dim(importer, &dims[i], after_run, &out->shape.dim[i]));
  return HONE_OK;
}

hone_status hn_import_type(hn_importer *importer, const hn_onnx_type *type, bool after_run, hone_type *out) {
  *out = (hone_type){.kind = HONE_TENSOR, .shape = {.rank = -1}};
  if (!type) return HONE_OK;
  if (type->optional && type->optional->element && type->optional->element->sequence) {
    out->kind = HONE_OPTIONAL_SEQUENCE;
    type = type->optional->element->sequence->element;
    if (!type) return HN_FAIL(importer->diag, HONE_MALFORMED, "a sequence without an element type");
  } else if (type->sequence || type->optional) {
    out->kind = type->sequence ? HONE_SEQUENCE : HONE_OPTIONAL;
    type = type->sequence ? type->sequence->element : type->optional->element;
    if (!type) return HN_FAIL(importer->diag, HONE_MALFORMED, "a sequence or an optional without an element type");
    if (type->sequence || type->optional)
      return HN_FAIL(importer->diag, HONE_UNSUPPORTED, "a sequence or an optional of other things than tensors");
  }
  if (type->has_map || type->sparse)
    return HN_FAIL(importer->diag, HONE_UNSUPPORTED, type->has_map ? "it is a map" : "it is a sparse tensor");
  if (type->tensor) HN_TRY(import_tensor_type(importer, type->tensor, after_run, out));
  if (out->kind == HONE_TENSOR) return HONE_OK;
  for (int d = 0; d < out->shape.rank; ++d)
    if (HONE_SYMBOLIC(out->shape.dim[d])) out->shape.rank = -1; /* each element has its own */
  return HONE_OK;
}
