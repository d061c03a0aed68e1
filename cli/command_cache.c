/* SPDX-License-Identifier: Apache-2.0 */
/* command_cache.c - hone cache merge: several timing caches become one. */
#include "cli.h"
#include <string.h>

enum { MOST_FILES = 64 };

const cli_option cli_cache_options[] = {
    {"file", CLI_LIST, "FILE", .doc = "what to do, and the caches to do it with"},
    {"output", CLI_TEXT, "FILE", .doc = "the merged cache; one that is there already is merged, too",
     .writes = CLI_WRITES_FILE},
    {"o", CLI_TEXT, "FILE", .same_as = "output"},
    {0},
};

int cli_command_cache(cli_tool *cli) {
  const char *words[MOST_FILES + 1], *output = cli_text(cli, "output");
  const int count = cli_list(cli, "file", words, MOST_FILES + 1);
  if (count < 1 || strcmp(words[0], "merge") != 0) return cli_usage_error(cli, "what to do is: merge");
  if (count < 2) return cli_usage_error(cli, "timing caches must be named");
  if (!output) return cli_usage_error(cli, "-o FILE must be given");
  const hone_status status = hone_timing_cache_merge(cli->context, words + 1, count - 1, output);
  cli_next(cli, "hone build MODEL.onnx --timing-cache %s", output);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}
