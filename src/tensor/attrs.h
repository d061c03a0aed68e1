/* SPDX-License-Identifier: Apache-2.0 */
/* attrs.h - reading and building attribute lists. */
#ifndef HN_TENSOR_ATTRS_H
#define HN_TENSOR_ATTRS_H

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"
#include <hone/op.h>

const hone_attr *hn_attr_find(const hone_attrs *attrs, const char *name); /* NULL when absent */
bool hn_attr_has(const hone_attrs *attrs, const char *name);
/* The value, or 0 / 0.0 / "" when absent (attributes with defaults never are). */
int64_t hn_attr_int(const hone_attrs *attrs, const char *name);
double hn_attr_float(const hone_attrs *attrs, const char *name);
const char *hn_attr_text(const hone_attrs *attrs, const char *name);
/* List attributes: count (0 when absent), and the items through *out (NULL when absent). */
int hn_attr_ints(const hone_attrs *attrs, const char *name, const int64_t **out);
bool hn_attr_ints_are(const hone_attrs *attrs, const char *name, int64_t want); /* each of them; true when absent */
int64_t hn_attr_ints_at(const hone_attrs *attrs, const char *name, int at, int64_t otherwise);
/* The attributes whose names begin with the prefix, without it: of one layer of a fused op. Borrowed; how many. */
int hn_attrs_behind(const hone_attrs *attrs, const char *prefix, hone_attr *items, int room);

/* Checks given attributes against a row and fills in defaults: order as declared, everything copied into the arena.
 * INVALID names an attribute that the row does not know, has another kind, or needs and misses. */
hone_status hn_attrs_complete(hn_arena *arena, hone_diagnostics *diag, const hone_op *op, const hone_attrs *given,
                              hone_attrs *out);
hone_status hn_attrs_copy(hn_arena *arena, const hone_attrs *from, hone_attrs *out); /* deep */
bool hn_attrs_equal(const hone_attrs *a, const hone_attrs *b); /* names, kinds and values, floats by bits */

/* `[axis=1, pads=[0,0,1,1], mode="floor", alpha=0.5]`; nothing when empty. A float always has '.', 'e', inf or nan. */
void hn_text_attrs(hn_text *text, const hone_attrs *attrs, const hone_op *op_for_defaults_to_omit_or_null);
void hn_text_attr_value(hn_text *text, const hone_attr *attr);

#endif
