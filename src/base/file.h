/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - reading, mapping and replacing whole files. Messages name the path and the system's reason. */
#ifndef HN_BASE_FILE_H
#define HN_BASE_FILE_H

#include "base/diag.h"
#include "base/memory.h"

/* Bytes that are mapped from a file or held in memory; zero-initialised is empty. */
typedef struct hn_blob {
  const uint8_t *data;
  size_t bytes;
  bool mapped; /* else allocated with allocator when owned */
  bool owned;
  hn_allocator allocator;
} hn_blob;

hone_status hn_file_map(hone_diagnostics *diag, const char *path,
                        hn_blob *out); /* read-only, shared; empty files are OK */
hone_status hn_file_read(hone_diagnostics *diag, hn_allocator allocator, const char *path, hn_blob *out);
/* Opens `name` beneath the folder of `model_path` for external tensor data: relative, no "..", no links on the way,
 * a regular file with one link; the range must lie inside. Maps the whole file. */
hone_status hn_file_map_beside(hone_diagnostics *diag, const char *model_path, const char *name, hn_blob *out);
void hn_blob_close(hn_blob *blob);

/* A file that appears under its name only when it is complete: written to a temporary name in the same folder, synced,
 * renamed by commit. */
typedef struct hn_file_writer {
  int fd; /* -1 when not open */
  char path[4096], temporary[4160];
  uint64_t offset;
} hn_file_writer;
hone_status hn_file_begin(hone_diagnostics *diag, hn_file_writer *writer, const char *path);
hone_status hn_file_write(hone_diagnostics *diag, hn_file_writer *writer, const void *bytes, size_t count);
hone_status hn_file_pad(hone_diagnostics *diag, hn_file_writer *writer, size_t alignment); /* zeros up to a multiple */
hone_status hn_file_commit(hone_diagnostics *diag, hn_file_writer *writer);
void hn_file_abandon(hn_file_writer *writer); /* removes the temporary file; fine after commit */
hone_status hn_file_replace(hone_diagnostics *diag, const char *path, const void *bytes, size_t count); /* all in one */
/* Keeps others who ask for the same out of the folder of a path while a file there is read and replaced (flock). -1
 * when it cannot be had (a file system without locks): then one goes on without. */
int hn_file_lock_folder(const char *path);
void hn_file_unlock_folder(int lock);

#endif
