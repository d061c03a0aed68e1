/* SPDX-License-Identifier: Apache-2.0 */
/* quota.c - the quota of CPU time of a process: a container with 2 of 64 cores runs 64 threads in turns otherwise. */
#include "base/quota.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* A file's first line; false when it cannot be read. */
static bool read_line(const char *path, char *out, int room) {
  FILE *file = fopen(path, "re");
  if (!file) return false;
  const bool read = fgets(out, room, file) != NULL;
  fclose(file);
  if (read) out[strcspn(out, "\n")] = 0;
  return read;
}

/* Cores of a quota in microseconds of each period; infinite where there is none. */
static double cores(const char *quota, const char *period) {
  const double limit = strtod(quota, NULL), of = strtod(period, NULL); /* "max" is 0, v1's -1 is none */
  return limit > 0 && of > 0 ? limit / of : INFINITY;
}

/* cpu.max of a group: "QUOTA PERIOD" or "max PERIOD". */
static double quota_v2(const char *folder) {
  char path[PATH_BYTES + 32], line[128];
  (void)snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (!read_line(path, line, sizeof line)) return INFINITY;
  char *space = strchr(line, ' ');
  if (!space) return INFINITY;
  *space = 0;
  return cores(line, space + 1);
}

static double quota_v1(const char *folder) {
  char path[PATH_BYTES + 32], quota[64], period[64];
  (void)snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (!read_line(path, quota, sizeof quota)) return INFINITY;
  (void)snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  return read_line(path, period, sizeof period) ? cores(quota, period) : INFINITY;
}

/* The least of a group and all above it. In a container the group's own path may not be there, but its root is. */
static double least_up(const char *base, const char *group, double (*quota_of)(const char *folder)) {
  char folder[PATH_BYTES];
  double least = quota_of(base);
  if (strstr(group, "..") || snprintf(folder, sizeof folder, "%s%s", base, group) >= (int)sizeof folder) return least;
  for (const size_t end = strlen(base); strlen(folder) > end + 1;) {
    least = fmin(least, quota_of(folder));
    *strrchr(folder, '/') = 0;
  }
  return least;
}

/* A line "NUMBER:CONTROLLERS:GROUP"; v2's has no controllers. */
static double quota_of_line(const char *root, char *line) {
  char base[PATH_BYTES / 2];
  char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!group) return INFINITY;
  *group++ = 0;
  if (!controllers[1]) {
    (void)snprintf(base, sizeof base, "%s/sys/fs/cgroup", root);
    return least_up(base, group, quota_v2);
  }
  for (char *at = controllers + 1, *name; (name = strsep(&at, ","));) {
    if (strcmp(name, "cpu") != 0) continue;
    (void)snprintf(base, sizeof base, "%s/sys/fs/cgroup/cpu", root);
    return least_up(base, group, quota_v1);
  }
  return INFINITY;
}

int hn_quota_cores_under(const char *root) {
  char path[PATH_BYTES], line[PATH_BYTES / 2];
  double least = INFINITY;
  (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    least = fmin(least, quota_of_line(root, line));
  }
  fclose(file);
  return isinf(least) || least > 1e6 ? 0 : (int)ceil(least);
}

int hn_quota_cores(void) { return hn_quota_cores_under(""); }
