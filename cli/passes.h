/* SPDX-License-Identifier: Apache-2.0 */
/* passes.h - what `hone passes --stats` counts. */
#ifndef CLI_PASSES_H
#define CLI_PASSES_H

#include "cli.h"

typedef struct cli_pass_stats cli_pass_stats;

/* Counts the graph's operators and asks for the passes' events. NULL: no memory. */
cli_pass_stats *cli_pass_stats_begin(const hone_graph *graph, hone_pass_options *passes);
hone_status cli_pass_stats_end(cli_pass_stats *stats, const hone_graph *graph); /* counts the operators again */
void cli_pass_stats_print(const cli_pass_stats *stats, bool json);
void cli_pass_stats_drop(cli_pass_stats *stats); /* NULL is fine */

#endif
