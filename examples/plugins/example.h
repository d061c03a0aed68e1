/* SPDX-License-Identifier: Apache-2.0 */
/* example.h - what the examples' rows share. A plug-in links none of hone's libraries: structs are read as they are. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <hone/plugin.h>
#include <string.h>

/* Elements of the axes [first, end). */
static inline int64_t count_between(const hone_shape *shape, int first, int end) {
  int64_t count = 1;
  for (int i = first; i < end; ++i) count *= shape->dim[i];
  return count;
}

static inline int64_t count_of(const hone_shape *shape) { return count_between(shape, 0, shape->rank); }

static inline const hone_attr *find_attr(const hone_attrs *attrs, const char *name) {
  for (int i = 0; i < attrs->count; ++i)
    if (strcmp(attrs->items[i].name, name) == 0) return &attrs->items[i];
  return NULL;
}

static inline double float_attr(const hone_attrs *attrs, const char *name) { return find_attr(attrs, name)->f; }

/* An element of a list that may be absent. */
static inline int64_t int_at(const hone_attrs *attrs, const char *name, int at, int64_t otherwise) {
  const hone_attr *attr = find_attr(attrs, name);
  return attr && at < attr->count ? attr->ints[at] : otherwise;
}

/* Outputs have their memory, unless nothing was known of their shapes before. */
static inline hone_status make_room(hone_eval *eval, int rank, const int64_t *dims) {
  return eval->out[0].data ? HONE_OK : eval->resize(eval, 0, rank, dims);
}

static inline bool is_plain(const hone_type *type, hone_dtype dtype) {
  return type->kind == HONE_TENSOR && type->dtype == dtype && type->format == HONE_PLAIN;
}

#endif
