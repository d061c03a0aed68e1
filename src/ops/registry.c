/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c - the operators of ops.inc as a list. Invariant: sorted by name, as ops.inc is; a test checks it. */
#include "ops/registry.h"
#include <string.h>

#define HN_OP(name) extern const hone_op hn_op_##name;
#include "ops/ops.inc"
#undef HN_OP

static const hone_op *const rows[] = {
#define HN_OP(name) &hn_op_##name,
#include "ops/ops.inc"
#undef HN_OP
    NULL};

static const hn_op_list builtin = {.rows = rows, .count = (int)(sizeof rows / sizeof rows[0]) - 1};

const hn_op_list *hn_builtin_ops(void) { return &builtin; }

const hone_op *hn_op_find(const hn_op_list *list, const char *name) {
  int low = 0, high = list->count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    const int order = strcmp(list->rows[middle]->name, name);
    if (order == 0) return list->rows[middle];
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

bool hn_op_is_guest(const hn_op_list *list, const hone_op *op) {
  for (int i = 0; i < list->guest_count; ++i)
    if (list->guests[i] == op) return true;
  return false;
}

/* "" and "ai.onnx" are two spellings of one domain. */
static const char *plain_domain(const char *domain) { return domain && strcmp(domain, "ai.onnx") != 0 ? domain : ""; }

static const hone_op *find_onnx(const hone_op *const *ops, int count, const char *domain, const char *name, int opset,
                                const hone_onnx_row **out_row, bool *out_known) {
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < HONE_MAX_ONNX_ROWS && ops[i]->onnx[j].name; ++j) {
      const hone_onnx_row *row = &ops[i]->onnx[j];
      if (strcmp(row->name, name) != 0 || strcmp(plain_domain(row->domain), plain_domain(domain)) != 0) continue;
      *out_known = true;
      if (opset < row->first || opset > row->last) continue;
      *out_row = row;
      return ops[i];
    }
  }
  return NULL;
}

const hone_op *hn_op_find_onnx(const hn_op_list *list, const char *domain, const char *name, int opset,
                               const hone_onnx_row **out_row, bool *out_known) {
  *out_row = NULL;
  *out_known = false;
  const hone_op *guest = find_onnx(list->guests, list->guest_count, domain, name, opset, out_row, out_known);
  return guest ? guest : find_onnx(list->rows, list->count, domain, name, opset, out_row, out_known);
}
