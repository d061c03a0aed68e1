/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h - the list of operators: ops.inc's rows and plug-ins'. */
#ifndef HN_OPS_REGISTRY_H
#define HN_OPS_REGISTRY_H

#include <hone/op.h>

typedef struct hn_op_list {
  const hone_op *const *rows;
  int count;
  const hone_op *const *guests; /* of those, plug-ins' and the program's: their ONNX names come first */
  int guest_count;
} hn_op_list;

const hn_op_list *hn_builtin_ops(void);                              /* static storage, sorted by name */
const hone_op *hn_op_find(const hn_op_list *list, const char *name); /* NULL when absent; binary search */
bool hn_op_is_guest(const hn_op_list *list, const hone_op *op);      /* a plug-in's, or the program's */
/* The row and its ONNX row for an operator of a domain ("" = ai.onnx) at an opset. NULL when there is none;
 * *out_known tells whether another opset of that operator is known (for the message). */
const hone_op *hn_op_find_onnx(const hn_op_list *list, const char *domain, const char *name, int opset,
                               const hone_onnx_row **out_row, bool *out_known);

#endif
