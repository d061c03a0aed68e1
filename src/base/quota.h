/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h - how much of the machine's time a process may have, as control groups say (Linux: Documentation/admin-guide/
 * cgroup-v2.rst, cpu.max; cgroup v1: cpu.cfs_quota_us and cpu.cfs_period_us). */
#ifndef HN_BASE_QUOTA_H
#define HN_BASE_QUOTA_H

/* So many cores, rounded up, are in the least quota of the process's group and those above it; 0: there is none. */
int hn_quota_cores(void);
/* The same of another place than /, for tests: ROOT/proc/self/cgroup, ROOT/sys/fs/cgroup. */
int hn_quota_cores_under(const char *root);

#endif
