/* SPDX-License-Identifier: Apache-2.0 */
/* common_list.h - what the operators on sequences and optionals share. */
#ifndef HN_OPS_COMMON_LIST_H
#define HN_OPS_COMMON_LIST_H

#include "ops/common_move.h"
#include "tensor/list.h"

/* ---- infer ---- */
/* Output `output` is of this kind with elements of this type; free extents are dropped: each element has its own. */
void hn_out_list(hone_infer *infer, int output, hone_kind kind, const hone_type *element);
/* The element type becomes what both are: rank -1 where the shapes differ. */
void hn_join_element(hone_type *element, const hone_type *other);
hone_status hn_infer_want_kind(hone_infer *infer, int input, hone_kind kind, const char *what);

/* ---- eval ---- */
int64_t hn_eval_list_count(const hone_eval *eval, int input);
/* Room for `count` elements in output 0, to be filled. */
hone_status hn_eval_list(hone_eval *eval, int64_t count, hone_tensor **out_items);
/* A copy that lives as long as what the run keeps. */
hone_status hn_eval_keep(hone_eval *eval, const hone_tensor *value, hone_tensor *out);
/* Position input, negative ones from the end; `most` may be the count itself for insertion. Absent: `otherwise`. */
hone_status hn_eval_position(hone_eval *eval, int input, int64_t count, int64_t most, int64_t otherwise, int64_t *out);
/* Output 0 becomes this tensor: its extents may have been planned. */
hone_status hn_eval_give(hone_eval *eval, const hone_tensor *item);

#endif
