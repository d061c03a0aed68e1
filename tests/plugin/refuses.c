/* SPDX-License-Identifier: Apache-2.0 */
/* refuses.c - a plug-in whose start fails: it gives no table, and must be named. */
#include <hone/plugin.h>

HONE_API const hone_plugin_table *hone_plugin(const hone_host *host);
const hone_plugin_table *hone_plugin(const hone_host *host) {
  (void)host;
  return NULL;
}
