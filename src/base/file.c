/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - whole files: mapped, read and replaced.
 * Invariant: a writer that failed holds nothing: its descriptor is closed and its temporary file is gone. */
#include "base/file.h"
#include "base/clock.h"
#include "base/looks.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

hone_status hn_file_check_regular(hone_diagnostics *diag, int fd, const char *path, struct stat *about) {
  if (fstat(fd, about) != 0) return HN_FAIL(diag, HONE_IO, "%s: cannot find its size: %m", path);
  if (S_ISDIR(about->st_mode)) return hn_fail_folder(diag, path);
  if (!S_ISREG(about->st_mode)) return HN_FAIL(diag, HONE_IO, "%s: not a regular file", path);
  return HONE_OK;
}

/* Nothing can be mapped or allocated for an empty file; the pointer is still valid. */
static const hn_blob empty_blob = {.data = (const uint8_t *)""};

hone_status hn_file_map_descriptor(hone_diagnostics *diag, int fd, const char *path, size_t bytes, hn_blob *out) {
  if (bytes == 0) {
    *out = empty_blob;
    return HONE_OK;
  }
  void *data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED)
    return HN_FAIL(diag, errno == ENOMEM ? HONE_NO_MEMORY : HONE_IO, "%s: cannot map %zu bytes: %m", path, bytes);
  *out = (hn_blob){.data = data, .bytes = bytes, .mapped = true, .owned = true};
  return HONE_OK;
}

hone_status hn_file_map(hone_diagnostics *diag, const char *path, hn_blob *out) {
  *out = (hn_blob){0};
  const int fd = open(path, HN_OPEN_TO_READ);
  if (fd < 0) return HN_FAIL(diag, HONE_IO, "%s: cannot open: %m", path);
  struct stat about;
  hone_status status = hn_file_check_regular(diag, fd, path, &about);
  if (status == HONE_OK) status = hn_file_map_descriptor(diag, fd, path, (size_t)about.st_size, out);
  close(fd);
  return status;
}

static hone_status read_exactly(hone_diagnostics *diag, int fd, const char *path, uint8_t *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = read(fd, data + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return HN_FAIL(diag, HONE_IO, "%s: cannot read: %m", path);
    if (count == 0) return HN_FAIL(diag, HONE_IO, "%s: became shorter while it was read", path);
    done += (size_t)count;
  }
  return HONE_OK;
}

static hone_status read_descriptor(hone_diagnostics *diag, hn_allocator allocator, int fd, const char *path,
                                   hn_blob *out) {
  struct stat about;
  HN_TRY(hn_file_check_regular(diag, fd, path, &about));
  const size_t bytes = (size_t)about.st_size;
  if (bytes == 0) {
    *out = empty_blob;
    return HONE_OK;
  }
  uint8_t *data = hn_alloc(&allocator, bytes);
  if (!data) return HN_FAIL(diag, HONE_NO_MEMORY, "%s: no memory for %zu bytes", path, bytes);
  const hone_status status = read_exactly(diag, fd, path, data, bytes);
  if (status != HONE_OK) {
    hn_free(&allocator, data, bytes);
    return status;
  }
  *out = (hn_blob){.data = data, .bytes = bytes, .owned = true, .allocator = allocator};
  return HONE_OK;
}

hone_status hn_file_read(hone_diagnostics *diag, hn_allocator allocator, const char *path, hn_blob *out) {
  *out = (hn_blob){0};
  const int fd = open(path, HN_OPEN_TO_READ);
  if (fd < 0) return HN_FAIL(diag, HONE_IO, "%s: cannot open: %m", path);
  const hone_status status = read_descriptor(diag, allocator, fd, path, out);
  close(fd);
  return status;
}

void hn_blob_close(hn_blob *blob) {
  if (blob->mapped) {
    munmap((void *)(uintptr_t)blob->data, blob->bytes);
  } else if (blob->owned) {
    hn_free(&blob->allocator, (void *)(uintptr_t)blob->data, blob->bytes);
  }
  *blob = (hn_blob){0};
}

/* The folder part of a path, "." when it has none; false when it does not fit. */
bool hn_file_folder_of(const char *path, char *folder, size_t room) {
  const char *slash = strrchr(path, '/');
  const char *from = slash ? path : ".";
  size_t length = slash ? (size_t)(slash - path) : 1;
  if (slash == path) length = 1; /* the root */
  if (length >= room) return false;
  memcpy(folder, from, length);
  folder[length] = 0;
  return true;
}

/* ---- temporary files ----
 * PATH.16_HEX_DIGITS.part, locked (flock) by its writer as long as it has that name: one that nobody holds was left by
 * a process that was killed. */

static bool is_temporary_of(const char *name, const char *base) {
  const size_t length = strlen(base);
  return strncmp(name, base, length) == 0 && name[length] == '.' &&
         strspn(name + length + 1, "0123456789abcdef") == 16 && strcmp(name + length + 17, ".part") == 0;
}

void hn_file_drop_leftovers(const char *path) {
  char folder[4096];
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  if (!hn_file_folder_of(path, folder, sizeof folder)) return;
  DIR *entries = opendir(folder);
  for (const struct dirent *entry; entries && (entry = readdir(entries));) {
    if (!is_temporary_of(entry->d_name, base)) continue;
    const int fd = openat(dirfd(entries), entry->d_name, HN_OPEN_TO_READ | O_NOFOLLOW);
    if (fd < 0) continue;
    struct stat about;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
      (void)unlinkat(dirfd(entries), entry->d_name, 0);
    close(fd);
  }
  if (entries) closedir(entries);
}

/* Ours alone: not taken for a leftover between its creation and its lock. File systems without locks have none. */
static bool is_held(int fd) {
  struct stat about;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return fstat(fd, &about) == 0 && about.st_nlink > 0;
}

/* Created with the umask's permissions, which mkstemp would not do. */
static int create_temporary(hn_file_writer *writer) {
  uint64_t tag = (uint64_t)hn_clock_ns() ^ (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)writer;
  for (int attempt = 0; attempt < 100; ++attempt, tag += UINT64_C(0x9e3779b97f4a7c15)) {
    snprintf(writer->temporary, sizeof writer->temporary, "%s.%016" PRIx64 ".part", writer->path, tag);
    const int fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) return fd;
    if (fd >= 0 && is_held(fd)) return fd;
    if (fd >= 0) close(fd);
  }
  return -1;
}

hone_status hn_file_begin(hone_diagnostics *diag, hn_file_writer *writer, const char *path) {
  writer->fd = -1;
  writer->offset = 0;
  writer->temporary[0] = 0;
  const size_t length = strlen(path);
  if (length >= sizeof writer->path) return HN_FAIL(diag, HONE_IO, "%s: the path is too long", path);
  memcpy(writer->path, path, length + 1);
  struct stat about; /* renaming over a device or a pipe would replace it */
  if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
    return HN_FAIL(diag, HONE_IO, "%s: exists and is not a regular file", path);
  hn_file_drop_leftovers(path);
  writer->fd = create_temporary(writer);
  if (writer->fd < 0) return HN_FAIL(diag, HONE_IO, "%s: cannot create: %m", path);
  return HONE_OK;
}

void hn_file_abandon(hn_file_writer *writer) {
  if (writer->fd < 0) return;
  close(writer->fd);
  unlink(writer->temporary);
  writer->fd = -1;
}

static hone_status fail_writing(hone_diagnostics *diag, hn_file_writer *writer, const char *what) {
  const hone_status status = HN_FAIL(diag, HONE_IO, "%s: cannot %s: %m", writer->path, what);
  hn_file_abandon(writer);
  return status;
}

hone_status hn_file_write(hone_diagnostics *diag, hn_file_writer *writer, const void *bytes, size_t count) {
  if (writer->fd < 0) return HN_FAIL(diag, HONE_INVALID, "writing to a file that is not open");
  enum { AT_ONCE = 8 << 20 };
  const char *from = bytes;
  while (count > 0) {
    const ssize_t done = write(writer->fd, from, count < AT_ONCE ? count : AT_ONCE);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return fail_writing(diag, writer, "write");
#ifdef SYNC_FILE_RANGE_WRITE /* the disk begins beside what follows, and completing the file waits less */
    if (done == AT_ONCE) (void)sync_file_range(writer->fd, (off_t)writer->offset, done, SYNC_FILE_RANGE_WRITE);
#endif
    from += done;
    count -= (size_t)done;
    writer->offset += (uint64_t)done;
  }
  return HONE_OK;
}

/* Makes the new name survive a power cut. The file is complete already, so a refusal (some file systems) is no error.
 */
static void sync_folder(const char *path) {
  char folder[4096];
  if (!hn_file_folder_of(path, folder, sizeof folder)) return;
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

hone_status hn_file_commit(hone_diagnostics *diag, hn_file_writer *writer) {
  if (writer->fd < 0) return HN_FAIL(diag, HONE_INVALID, "completing a file that is not open");
  if (fsync(writer->fd) != 0) return fail_writing(diag, writer, "sync");
  if (rename(writer->temporary, writer->path) != 0) return fail_writing(diag, writer, "rename to it");
  const int fd = writer->fd;
  writer->fd = -1; /* from here on there is no temporary file */
  if (close(fd) != 0) return HN_FAIL(diag, HONE_IO, "%s: cannot close: %m", writer->path);
  sync_folder(writer->path);
  return HONE_OK;
}

hone_status hn_file_replace(hone_diagnostics *diag, const char *path, const void *bytes, size_t count) {
  hn_file_writer writer;
  HN_TRY(hn_file_begin(diag, &writer, path));
  HN_TRY(hn_file_write(diag, &writer, bytes, count));
  return hn_file_commit(diag, &writer);
}

int hn_file_lock_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  char folder[4096] = ".";
  const size_t length = slash ? (size_t)(slash - path) : 1;
  if (length >= sizeof folder) return -1;
  if (slash) {
    memcpy(folder, path, length);
    folder[length] = 0;
    if (length == 0) folder[0] = '/', folder[1] = 0;
  }
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  while (flock(fd, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    close(fd);
    return -1;
  }
  return fd;
}

void hn_file_unlock_folder(int lock) {
  if (lock >= 0) close(lock);
}
