/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_npz.c - one array of NumPy's .npz: a ZIP archive whose members are NAME.npy, stored as they are
 * (numpy.savez). Source: PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12, 4.3.16. Any bytes may come: every offset is
 * held against the file. */
#include "api/tensor_files.h"
#include "base/arguments.h"
#include "base/context.h"
#include <string.h>

enum { LOCAL_BYTES = 30, ENTRY_BYTES = 46, END_BYTES = 22, MOST_COMMENT = 65535 };

static uint32_t number(const uint8_t *at, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= (uint32_t)at[i] << (8 * i);
  return value;
}

static hone_status damaged(hone_diagnostics *diag, const char *path, const char *what) {
  return HN_FAIL(diag, HONE_MALFORMED, "%s (.npz): %s", path, what);
}

/* The record at the archive's end, before a comment; NULL: there is none. */
static const uint8_t *find_end(const hn_blob *file) {
  for (size_t back = END_BYTES; back <= file->bytes && back <= END_BYTES + MOST_COMMENT; ++back) {
    const uint8_t *at = file->data + file->bytes - back;
    if (memcmp(at, "PK\5\6", 4) == 0) return at;
  }
  return NULL;
}

/* Is the member NAME.npy, or is any wanted? */
static bool is_wanted(const uint8_t *text, size_t length, const char *name) {
  const size_t wanted = strlen(name);
  return length == wanted + 4 && memcmp(text, name, wanted) == 0 && memcmp(text + wanted, ".npy", 4) == 0;
}

static hone_status member(hone_diagnostics *diag, const hn_blob *file, const char *path, const uint8_t *entry,
                          hn_blob *out) {
  const size_t bytes = number(entry + 20, 4), offset = number(entry + 42, 4);
  if (number(entry + 10, 2) != 0)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "%s (.npz): it is compressed; numpy.savez writes it as it can be read",
                   path);
  if (bytes == UINT32_MAX || offset == UINT32_MAX)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "%s (.npz): an array of 4 GiB or more; write it as .npy", path);
  if (offset > file->bytes || file->bytes - offset < LOCAL_BYTES) return damaged(diag, path, "a member lies outside");
  const uint8_t *local = file->data + offset;
  const size_t head = LOCAL_BYTES + number(local + 26, 2) + number(local + 28, 2);
  if (memcmp(local, "PK\3\4", 4) != 0 || file->bytes - offset < head || file->bytes - offset - head < bytes)
    return damaged(diag, path, "a member lies outside");
  *out = (hn_blob){.data = local + head, .bytes = bytes};
  return hn_is_npy(out) ? HONE_OK : damaged(diag, path, "a member is no .npy");
}

static hone_status find(hone_diagnostics *diag, const hn_blob *file, const char *path, const char *name, hn_blob *out) {
  const uint8_t *end = find_end(file);
  if (!end) return damaged(diag, path, "it is no ZIP archive, or its end is missing");
  const size_t count = number(end + 10, 2), offset = number(end + 16, 4), limit = (size_t)(end - file->data);
  size_t at = offset;
  for (size_t i = 0; i < count; ++i) {
    if (at > limit || limit - at < ENTRY_BYTES || memcmp(file->data + at, "PK\1\2", 4) != 0)
      return damaged(diag, path, "its list of members is damaged");
    const uint8_t *entry = file->data + at;
    const size_t length = number(entry + 28, 2),
                 all = ENTRY_BYTES + length + number(entry + 30, 2) + number(entry + 32, 2);
    if (limit - at < all) return damaged(diag, path, "its list of members is damaged");
    if (is_wanted(entry + ENTRY_BYTES, length, name)) return member(diag, file, path, entry, out);
    at += all;
  }
  return HN_FAIL(diag, HONE_INVALID, "%s (.npz) has no array %s among its %zu", path, name, count);
}

hone_status hone_tensor_read_npz(hone_context *context, const char *path, const char *name, hone_tensor *out_tensor) {
  if (out_tensor) *out_tensor = (hone_tensor){0};
  HN_GIVEN(NULL, context);
  hone_diagnostics *diag = &context->diag;
  HN_GIVEN(diag, path);
  HN_GIVEN(diag, name);
  HN_GIVEN(diag, out_tensor);
  hn_blob file, array;
  HN_TRY(hn_file_map(diag, path, &file));
  hone_status status = find(diag, &file, path, name, &array);
  if (status == HONE_OK) status = hn_npy_read(context, path, &array, out_tensor);
  hn_blob_close(&file);
  return status;
}
