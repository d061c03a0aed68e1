/* SPDX-License-Identifier: Apache-2.0 */
/* beside.c - external tensor data: files beneath a model's folder, by names that a file chose.
 *
 * Nothing is opened that does not lie beneath a root: the model's folder, or, where that is a snapshot in a model hub's
 * cache (models--NAME/snapshots/REVISION[/...]), the cache's folder of that model, whose blobs/ a snapshot's files are
 * links to. The kernel sees to it (openat2), or, without that call, a walk that looks at one name after the other. */
#include "base/file.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/openat2.h>
#include <sys/syscall.h>
#endif

enum { PATH_ROOM = 4096, WALK_DEPTH = 64, WALK_LINKS = 16, SNAPSHOT_DEPTH = 4 };

/* Why a name must not be followed at all, or NULL. */
static const char *name_problem(const char *name) {
  if (!name[0]) return "an empty name";
  if (name[0] == '/') return "an absolute path";
  if (strlen(name) >= PATH_ROOM) return "a path that is too long";
  for (const char *part = name; part; part = strchr(part, '/')) {
    part += *part == '/';
    const size_t length = strcspn(part, "/");
    if (length == 2 && memcmp(part, "..", 2) == 0) return "a path with \"..\"";
  }
  return NULL;
}

/* ---- the walk ---- */

typedef struct walk {
  int folders[WALK_DEPTH]; /* from the root to where we are; all but the root are ours */
  int depth, links;
  char rest[2 * PATH_ROOM]; /* of the path */
} walk;

static void leave_folder(walk *w) { close(w->folders[w->depth--]); }

static int refuse(int error) {
  errno = error;
  return -1;
}

/* The link's text takes its place in the path; link is closed. */
static int follow_link(walk *w, int link) {
  char path[2 * PATH_ROOM];
  const ssize_t count = readlinkat(link, "", path, PATH_ROOM);
  close(link);
  if (count < 1 || count >= PATH_ROOM || ++w->links > WALK_LINKS) return refuse(ELOOP);
  if (path[0] == '/') return refuse(EXDEV);
  const size_t left = strlen(w->rest);
  if ((size_t)count + 1 + left >= sizeof path) return refuse(ENAMETOOLONG);
  path[count] = '/';
  memcpy(path + count + 1, w->rest, left + 1);
  memcpy(w->rest, path, (size_t)count + left + 2);
  return 0;
}

/* One name of the path. > 0: the file, opened to read; 0: go on; -1 with errno. */
static int step(walk *w, const char *part) {
  if (strcmp(part, ".") == 0) return 0;
  if (strcmp(part, "..") == 0) {
    if (w->depth == 0) return refuse(EXDEV);
    leave_folder(w);
    return 0;
  }
  const int at = openat(w->folders[w->depth], part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (at < 0) return -1;
  struct stat about;
  if (fstat(at, &about) != 0) about.st_mode = 0;
  if (S_ISLNK(about.st_mode)) return follow_link(w, at);
  const bool last = w->rest[strspn(w->rest, "/")] == 0;
  if (S_ISDIR(about.st_mode) && !last) {
    if (w->depth + 1 < WALK_DEPTH) {
      w->folders[++w->depth] = at;
      return 0;
    }
    close(at);
    return refuse(ELOOP);
  }
  close(at);
  return last ? openat(w->folders[w->depth], part, HN_OPEN_TO_READ | O_NOFOLLOW) : refuse(ENOTDIR);
}

/* As strict as openat2, for kernels and sandboxes without. */
static int open_step_by_step(int root, const char *name) {
  walk w = {.folders = {root}};
  int found = 0;
  snprintf(w.rest, sizeof w.rest, "%s", name);
  while (found == 0) {
    char part[NAME_MAX + 1];
    const char *from = w.rest + strspn(w.rest, "/");
    const size_t length = strcspn(from, "/");
    if (length == 0 || length > NAME_MAX) {
      found = refuse(length ? ENAMETOOLONG : EISDIR);
      break;
    }
    memcpy(part, from, length);
    part[length] = 0;
    memmove(w.rest, from + length, strlen(from + length) + 1);
    found = step(&w, part);
  }
  const int error = errno;
  while (w.depth > 0) leave_folder(&w);
  errno = error;
  return found;
}

static int open_beneath(int root, const char *name) {
#if defined(SYS_openat2)
  const struct open_how how = {.flags = HN_OPEN_TO_READ, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  const long fd = syscall(SYS_openat2, root, name, &how, sizeof how);
  /* sandboxes answer EPERM for calls unknown; AGAIN: something was renamed meanwhile */
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN)) return (int)fd;
#endif
  return open_step_by_step(root, name);
}

/* ---- the root ---- */

/* In a hub's cache: cuts the path after models--NAME and tells what was cut, "snapshots/REVISION/..."; else false. */
static bool cut_hub(char *path, const char **inside) {
  char *parts[SNAPSHOT_DEPTH + 3]; /* the last names of the path, the last one first */
  int count = 0;
  for (char *at = path + strlen(path); at > path && count < SNAPSHOT_DEPTH + 3; --at)
    if (at[-1] == '/') parts[count++] = at;
  for (int k = 1; k + 1 < count; ++k) { /* parts[0..k-1]: REVISION and folders in it */
    if (strncmp(parts[k], "snapshots/", 10) != 0 || strncmp(parts[k + 1], "models--", 8) != 0) continue;
    parts[k][-1] = 0;
    *inside = parts[k];
    return true;
  }
  return false;
}

/* Opens the root, and tells the data's path from there. */
static int open_root(const char *folder, const char *name, char *path, size_t room) {
  char resolved[PATH_MAX];
  const char *inside;
  int count = snprintf(path, room, "%s", name);
  const char *root = folder;
  if (realpath(folder, resolved) && cut_hub(resolved, &inside)) {
    root = resolved;
    count = snprintf(path, room, "%s/%s", inside, name);
  }
  return (size_t)count < room ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : refuse(ENAMETOOLONG);
}

static hone_status map_found(hone_diagnostics *diag, int fd, const char *name, bool anywhere, hn_blob *out) {
  if (fd < 0 && (errno == ELOOP || errno == ENOTDIR || errno == EXDEV))
    return HN_FAIL(diag, HONE_MALFORMED,
                   "external data \"%s\": a link out of the model's folder, or a file where a folder should be; links "
                   "are followed with allow_external_links (--allow-external-links)",
                   name);
  if (fd < 0) return HN_FAIL(diag, HONE_IO, "external data \"%s\": cannot open: %m", name);
  struct stat about;
  HN_TRY(hn_file_check_regular(diag, fd, name, &about));
  if (about.st_nlink != 1 && !anywhere) /* a hard link could lead out of the folder unseen */
    return HN_FAIL(diag, HONE_MALFORMED, "external data \"%s\": the file has %ju names, must have one", name,
                   (uintmax_t)about.st_nlink);
  return hn_file_map_descriptor(diag, fd, name, (size_t)about.st_size, out);
}

hone_status hn_file_map_beside(hone_diagnostics *diag, const char *model_path, const char *name, bool anywhere,
                               hn_blob *out) {
  *out = (hn_blob){0};
  const char *problem = name_problem(name);
  if (problem)
    return HN_FAIL(diag, HONE_MALFORMED, "external data \"%s\": %s; only files beneath the model's folder are read",
                   name, problem);
  char folder[PATH_ROOM], path[2 * PATH_ROOM];
  if (!hn_file_folder_of(model_path, folder, sizeof folder))
    return HN_FAIL(diag, HONE_IO, "%s: the path is too long", model_path);
  const int root = open_root(folder, name, path, sizeof path);
  if (root < 0) return HN_FAIL(diag, HONE_IO, "%s: cannot open the folder: %m", folder);
  const int fd = anywhere ? openat(root, path, HN_OPEN_TO_READ) : open_beneath(root, path);
  const hone_status status = map_found(diag, fd, name, anywhere, out);
  if (fd >= 0) close(fd);
  close(root);
  return status;
}
