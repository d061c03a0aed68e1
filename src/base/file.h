/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - reading, mapping and replacing whole files. Messages name the path and the system's reason. */
#ifndef HN_BASE_FILE_H
#define HN_BASE_FILE_H

#include "base/diag.h"
#include "base/memory.h"
#include <fcntl.h>
#include <sys/stat.h>

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
/* Maps `name`, external tensor data of a model, whole (base/beside.c): a relative path without "..", to a regular file
 * with one name, beneath the folder of `model_path`. Links are followed as long as they stay beneath that folder, or,
 * in a model hub's cache (models--NAME/snapshots/REVISION, and up to four folders in it), beneath models--NAME, which
 * has the blobs that a snapshot's files are links to. anywhere: links may lead anywhere, to files with many names. */
hone_status hn_file_map_beside(hone_diagnostics *diag, const char *model_path, const char *name, bool anywhere,
                               hn_blob *out);
void hn_blob_close(hn_blob *blob);

/* For base/ itself. NONBLOCK so that opening a pipe by mistake is an error and not a wait; regular files ignore it. */
#define HN_OPEN_TO_READ (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
hone_status hn_file_check_regular(hone_diagnostics *diag, int fd, const char *path, struct stat *about);
hone_status hn_file_map_descriptor(hone_diagnostics *diag, int fd, const char *path, size_t bytes, hn_blob *out);
/* The folder part of a path, "." when it has none; false when it does not fit. */
bool hn_file_folder_of(const char *path, char *folder, size_t room);

/* A file that appears under its name only when it is complete: written to a temporary name in the same folder, synced,
 * renamed by commit. */
typedef struct hn_file_writer {
  int fd; /* -1 when not open */
  char path[4096], temporary[4160];
  uint64_t offset;
} hn_file_writer;
hone_status hn_file_begin(hone_diagnostics *diag, hn_file_writer *writer, const char *path);
hone_status hn_file_write(hone_diagnostics *diag, hn_file_writer *writer, const void *bytes, size_t count);
hone_status hn_file_commit(hone_diagnostics *diag, hn_file_writer *writer);
void hn_file_abandon(hn_file_writer *writer); /* removes the temporary file; fine after commit */
hone_status hn_file_replace(hone_diagnostics *diag, const char *path, const void *bytes, size_t count); /* all in one */
/* Removes the temporary files of writers of this path that were killed; begin does, too. */
void hn_file_drop_leftovers(const char *path);
/* Keeps others who ask for the same out of the folder of a path while a file there is read and replaced (flock). -1
 * when it cannot be had (a file system without locks): then one goes on without. */
int hn_file_lock_folder(const char *path);
void hn_file_unlock_folder(int lock);

#endif
