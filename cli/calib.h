/* SPDX-License-Identifier: Apache-2.0 */
/* calib.h - calibration data from files: a folder of images, tensors or test data sets, or one file with a sample for
 * each index of its first axis. */
#ifndef CLI_CALIB_H
#define CLI_CALIB_H

#include "cli.h"

typedef struct cli_calib {
  cli_tool *cli;
  const char *option, *path; /* which option named it; what it named */
  hone_port_info ports[CLI_MAX_INPUTS];
  int port_count;
  char **names; /* of a folder, sorted; malloc'ed */
  int64_t name_count;
  bool is_folder;
  int64_t count;                           /* samples there will be */
  hone_named_tensor whole[CLI_MAX_INPUTS]; /* of a file: all samples */
  hone_named_tensor held[CLI_MAX_INPUTS];  /* of a folder: the present sample's */
  int held_count, whole_count;
  hone_named_tensor *kept; /* of a folder: [sample * port_count + port], while they are few bytes; malloc'ed */
  size_t kept_bytes;
  int code; /* of a failure that was said already */
} cli_calib;

extern const cli_option cli_calib_options[];

/* hone_graph_quantize() with the data, or the ranges, of --calib. Exit code. */
int cli_quantize(cli_tool *cli, const hone_graph *graph, hone_quantize_options *options, hone_graph **out);
/* The same for hone_graph_sensitivity(). */
int cli_sensitivity(cli_tool *cli, const hone_graph *graph, hone_quantize_options *options,
                    void (*see)(void *user, const hone_sensitivity *row), void *user);
/* --method and its kin; kept has room for CLI_MAX_GIVEN names. Exit code. */
int cli_quantize_options_read(cli_tool *cli, hone_quantize_options *out, const char **kept);
/* --int8: the model's graph becomes one in 8 bits, unless it is one already. Exit code. */
int cli_quantize_model(cli_tool *cli, cli_model *model);

/* Runs use with the options completed by what --calib names: samples (sample_count: how many without --calib-count; 0:
 * 64), or ranges. Exit code. */
typedef hone_status cli_use_samples(cli_tool *cli, const hone_graph *graph, const hone_quantize_options *options,
                                    void *user);
int cli_with_samples(cli_tool *cli, const hone_graph *graph, hone_quantize_options *options, cli_use_samples *use,
                     void *user);

/* Lists what --calib names, at most --calib-count samples. Exit code; closing is right after every outcome. */
int cli_calib_open(cli_tool *cli, const hone_graph *graph, cli_calib *out);
/* The same of another option. */
int cli_calib_open_option(cli_tool *cli, const hone_graph *graph, const char *option, int64_t most, cli_calib *out);
hone_status cli_calib_sample(void *calib, int64_t index, hone_named_tensor *out, int room, int *out_count);
void cli_calib_close(cli_calib *calib);

#endif
