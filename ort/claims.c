/* SPDX-License-Identifier: Apache-2.0 */
/* claims.c - what hone said of a graph's nodes, kept in the cache's folder: asking takes as long as a build without
 * timing. The file's name tells for which graph, options, version and CPU; a line for each node that is left:
 *   hone claims 1
 *   12 no kernel for these types
 *   end */
#include "ep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_LINE "hone claims 1\n"
#define LAST_LINE "end\n"
enum { PATH_BYTES = 4096, LINE_BYTES = 1024 };

static bool find_path(const ep_provider *p, const char *hash, const char *end, char *out) {
  return *p->options.cache_dir && snprintf(out, PATH_BYTES, "%s/%s.%s", p->options.cache_dir, hash, end) < PATH_BYTES;
}

/* Reads to the end; false: it is not as it was written. */
static bool read_lines(FILE *file, ep_arena *arena, int node_count, const char **reasons) {
  char line[LINE_BYTES];
  if (!fgets(line, sizeof line, file) || strcmp(line, FIRST_LINE) != 0) return false;
  while (fgets(line, sizeof line, file)) {
    char *reason;
    if (strcmp(line, LAST_LINE) == 0) return true;
    const long node = strtol(line, &reason, 10);
    const size_t length = strcspn(reason, "\n");
    if (reason == line || *reason != ' ' || reason[length] != '\n' || node < 0 || node >= node_count) return false;
    reason[length] = 0;
    reasons[node] = ep_copy_text(arena, reason + 1);
    if (!reasons[node]) return false;
  }
  return false;
}

bool ep_claims_load(const ep_provider *p, const char *hash, ep_arena *arena, int node_count, const char **reasons) {
  char path[PATH_BYTES];
  FILE *file = find_path(p, hash, "claims", path) ? fopen(path, "re") : NULL;
  if (!file) return false;
  const char **read = EP_NEW(arena, const char *, node_count);
  const bool whole = read && read_lines(file, arena, node_count, read);
  (void)fclose(file);
  for (int n = 0; whole && n < node_count; ++n)
    if (read[n]) reasons[n] = read[n];
  if (!whole) ep_log(p->ort, p->logger, ORT_LOG_WARNING, "hone: %s is made again, since it is damaged", path);
  return whole;
}

static bool write_lines(FILE *file, int node_count, const char *const *reasons) {
  bool good = fputs(FIRST_LINE, file) >= 0;
  for (int n = 0; n < node_count && good; ++n)
    if (reasons[n])
      good = fprintf(file, "%d %.*s\n", n, (int)(strcspn(reasons[n], "\n") % (LINE_BYTES / 2)), reasons[n]) > 0;
  return good && fputs(LAST_LINE, file) >= 0;
}

void ep_claims_save(const ep_provider *p, const char *hash, int node_count, const char *const *reasons) {
  char path[PATH_BYTES], made[PATH_BYTES], end[64];
  (void)snprintf(end, sizeof end, "%ld.tmp", (long)getpid());
  if (!find_path(p, hash, "claims", path) || !find_path(p, hash, end, made)) return;
  FILE *file = fopen(made, "wxe");
  bool good = file && write_lines(file, node_count, reasons);
  if (file) good &= fclose(file) == 0;
  if (good) good = rename(made, path) == 0;
  if (file && !good) (void)remove(made);
  if (!good) ep_log(p->ort, p->logger, ORT_LOG_WARNING, "hone: %s cannot be written", path);
}
