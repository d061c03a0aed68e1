/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - the storages, a row each. */
#include "tensor/storage.h"
#include "tensor/shape.h"

static const struct row {
  const char *name;
  hone_dtype dtype;
  hone_format format;
} rows[HONE_STORAGE_COUNT] = {
    [HONE_PLAIN] = {"plain", HONE_NONE, HONE_PLAIN},
    [HONE_NCHW16C] = {"nchw16c", HONE_NONE, HONE_NCHW16C},
    [HONE_NCHW8C] = {"nchw8c", HONE_NONE, HONE_NCHW8C},
    [HONE_NCHW32C] = {"nchw32c", HONE_NONE, HONE_NCHW32C},
    [HONE_NCHW64C] = {"nchw64c", HONE_NONE, HONE_NCHW64C},
    [HONE_NHWC] = {"nhwc", HONE_NONE, HONE_NHWC},
    [HONE_F16_PLAIN] = {"f16", HONE_F16, HONE_PLAIN},
    [HONE_F16_NCHW32C] = {"f16:nchw32c", HONE_F16, HONE_NCHW32C},
    [HONE_F16_NHWC] = {"f16:nhwc", HONE_F16, HONE_NHWC},
    [HONE_BF16_PLAIN] = {"bf16", HONE_BF16, HONE_PLAIN},
    [HONE_BF16_NCHW32C] = {"bf16:nchw32c", HONE_BF16, HONE_NCHW32C},
    [HONE_BF16_NHWC] = {"bf16:nhwc", HONE_BF16, HONE_NHWC},
    [HONE_F64_PLAIN] = {"f64", HONE_F64, HONE_PLAIN},
};

hone_format hn_storage_format(hone_storage storage) {
  return storage < HONE_STORAGE_COUNT ? rows[storage].format : HONE_PLAIN;
}

hone_dtype hn_storage_dtype(hone_storage storage) {
  return storage < HONE_STORAGE_COUNT ? rows[storage].dtype : HONE_NONE;
}

const char *hn_storage_name(hone_storage storage) {
  return storage < HONE_STORAGE_COUNT ? rows[storage].name : rows[HONE_PLAIN].name;
}

bool hn_storage_find(hone_dtype dtype, hone_format format, hone_storage *out) {
  for (int s = 0; s < HONE_STORAGE_COUNT; ++s) {
    *out = (hone_storage)s;
    if (rows[s].dtype == dtype && rows[s].format == format) return true;
  }
  *out = HONE_PLAIN;
  return false;
}

hone_storage hn_storage_fit(const hone_type *type, hone_storage wanted) {
  const bool narrows =
      type->kind == HONE_TENSOR && type->dtype == HONE_F32 && hn_storage_dtype(wanted) != HONE_F64; /* never widened */
  const hone_dtype dtype = narrows ? hn_storage_dtype(wanted) : HONE_NONE;
  const hone_format format = hn_takes_format(type, hn_storage_format(wanted)) ? hn_storage_format(wanted) : HONE_PLAIN;
  hone_storage fit;
  (void)hn_storage_find(dtype, format, &fit);
  return fit;
}

hone_type hn_stored_type(const hone_type *type, hone_storage storage) {
  hone_type stored = *type;
  if (hn_storage_dtype(storage) != HONE_NONE) stored.dtype = hn_storage_dtype(storage);
  stored.format = hn_storage_format(storage);
  return stored;
}

bool hn_storage_is_direct(hone_storage from, hone_storage to) {
  const hone_format a = hn_storage_format(from), b = hn_storage_format(to);
  const hone_dtype own = HONE_NONE, held = hn_storage_dtype(from), wanted = hn_storage_dtype(to);
  if (held != own && wanted != own && held != wanted) return false;
  return a == b || a == HONE_PLAIN || b == HONE_PLAIN || held != wanted;
}
