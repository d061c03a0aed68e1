/* SPDX-License-Identifier: Apache-2.0 */
/* test_quota.c - quotas of CPU time, read from folders that look like a system's. */
#include "base/quota.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct file {
  const char *path, *text; /* beneath the root; path NULL: no more */
} file;

static void make_file(const char *root, const file *f) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/%s", root, f->path);
  for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); ++slash) {
    *slash = 0;
    (void)mkdir(path, 0777);
    *slash = '/';
  }
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(f->text, out);
  fclose(out);
}

static const struct {
  const char *what;
  file files[6];
  int want;
} rows[] = {
    {"nothing at all", {{0}}, 0},
    {"no quota", {{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "max 100000\n"}}, 0},
    {"two cores", {{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "200000 100000\n"}}, 2},
    {"one and a half is two", {{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "150000 100000\n"}}, 2},
    {"half is one", {{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "50000 100000\n"}}, 1},
    {"the group above has less",
     {{"proc/self/cgroup", "0::/a/b\n"},
      {"sys/fs/cgroup/a/b/cpu.max", "800000 100000\n"},
      {"sys/fs/cgroup/a/cpu.max", "300000 100000\n"}},
     3},
    {"the group above has more",
     {{"proc/self/cgroup", "0::/a/b\n"},
      {"sys/fs/cgroup/a/b/cpu.max", "300000 100000\n"},
      {"sys/fs/cgroup/a/cpu.max", "max 100000\n"}},
     3},
    {"in a container its own root counts",
     {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "400000 100000\n"}},
     4},
    {"a path out of the tree is not followed",
     {{"proc/self/cgroup", "0::/../a\n"}, {"sys/fs/a/cpu.max", "100000 100000\n"}},
     0},
    {"version 1",
     {{"proc/self/cgroup", "5:memory:/a\n3:cpuacct,cpu:/a\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "250000\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}},
     3},
    {"version 1 without a quota",
     {{"proc/self/cgroup", "3:cpu:/a\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}},
     0},
    {"no numbers", {{"proc/self/cgroup", "0::/a\nx\n:\n"}, {"sys/fs/cgroup/a/cpu.max", "many\n"}}, 0},
    {"no period", {{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "200000 0\n"}}, 0},
};

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char root[] = "/tmp/hn_quota_XXXXXX", command[64];
    assert_non_null(mkdtemp(root));
    for (const file *f = rows[i].files; f->path; ++f) make_file(root, f);
    const int got = hn_quota_cores_under(root);
    (void)snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
    if (got != rows[i].want) fail_msg("%s: %d cores, want %d", rows[i].what, got, rows[i].want);
  }
}

static void test_here(void **state) {
  (void)state;
  assert_in_range(hn_quota_cores(), 0, 1 << 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_here)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
