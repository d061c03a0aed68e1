/* SPDX-License-Identifier: Apache-2.0 */
/* shrink.h - staircases that hone shrink measured, kept, and drawn. */
#ifndef CLI_SHRINK_H
#define CLI_SHRINK_H

#include "cli.h"

typedef struct cli_stairs {
  hone_shrink_stairs stairs; /* points into what follows */
  char *layer, *like;
  hone_shrink_step *steps;
} cli_stairs;
typedef struct cli_stairs_list {
  cli_stairs *items;
  int count;
  bool failed; /* out of memory */
} cli_stairs_list;

/* One small chart a staircase: channels to the right, time upwards, tops of stairs as dots. */
void cli_stairs_svg(const cli_stairs_list *list, FILE *to);

/* Options of a build, and what they point to. */
typedef struct cli_shrink_build {
  hone_build_options options;
  hone_port_info ports[CLI_MAX_INPUTS];
  cli_shape shapes[CLI_MAX_SHAPES];
  hone_profile_shape profiles[CLI_MAX_SHAPES];
} cli_shrink_build;
int cli_shrink_build_read(cli_tool *cli, const hone_graph *graph, cli_shrink_build *out); /* exit code */

/* hone prune --sparsity 2:4. Exit code. */
int cli_sparsify(cli_tool *cli, const hone_graph *graph, const char *output);

#endif
