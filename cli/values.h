/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - the values of a network, layer by layer, from a run or from files, and how far two of them are apart. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include "cli.h"

/* ---- values that are kept (values.c) ---- */
typedef struct cli_value {
  char *name;
  int64_t turn; /* of a loop's body */
  hone_tensor tensor;
} cli_value;
typedef struct cli_values {
  cli_tool *cli;
  cli_value *items;
  int count, capacity;
  const char *folder, *npz; /* or they are in files: NAME.npy with '_' for '/' */
} cli_values;

void cli_values_free(cli_values *values);
/* A copy of a tap's tensor. */
hone_status cli_values_add(cli_values *values, const char *name, int64_t turn, const hone_tensor *tensor);
/* The value of that name; *out_found false: there is none. What lies in files is read: cli_values_drop() frees it. Exit
 * code. */
int cli_values_get(const cli_values *values, const char *name, int64_t turn, hone_tensor *out, bool *out_found);
void cli_values_drop(const cli_values *values, hone_tensor *tensor);
/* The file of a value in a folder. */
void cli_value_path(const char *folder, const char *name, char *out, size_t room);

/* Runs a model's engine once with all values tapped, on the options' inputs, or on those in `inputs` where that is not
 * NULL. Exit code. */
int cli_run_tapped(cli_tool *cli, const cli_model *model, const cli_values *inputs,
                   hone_status (*on_tap)(void *user, const hone_tap *tap), void *user);
hone_status cli_values_keep_tap(void *values, const hone_tap *tap); /* an on_tap: all are kept */
/* The inputs that a run of the model would have, kept. Exit code. */
int cli_values_of_inputs(cli_tool *cli, const cli_model *model, cli_values *out);

/* ONNX Runtime's values of a model: a child Python runs it on the inputs and writes them to the folder. Exit code. */
extern const cli_option cli_python_options[];
int cli_values_of_runtime(cli_tool *cli, const char *model, const cli_values *inputs, const char *folder);

/* ---- how far apart (distance.c) ---- */
enum { CLI_DECADES = 14 }; /* of |got - want|: 0, below 1e-8, then a bin a decade, and 1e4 and more */
typedef struct cli_distance {
  bool comparable; /* numbers of the same shape and kind */
  int64_t count, worst_at;
  double max_abs, mean_abs, max_rel, rel_l2, cosine, snr_db; /* infinite where a number meets NaN or an infinity */
  double worst_got, worst_want;
  int64_t decades[CLI_DECADES];
} cli_distance;
void cli_distance_of(const hone_tensor *got, const hone_tensor *want, cli_distance *out);
/* Over the tolerance: relative L2 of real numbers, any difference of others. floor: below it differences do not count.
 */
bool cli_distance_is_over(const cli_distance *distance, const hone_tensor *want, double tolerance, double floor);
void cli_decade_name(int decade, char *out, size_t room); /* "1e-3" */

#endif
