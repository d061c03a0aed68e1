/* SPDX-License-Identifier: Apache-2.0 */
/* compare_sides.h - inside of hone compare: its two sides, the layers that were compared, and what is said of them. */
#ifndef CLI_COMPARE_SIDES_H
#define CLI_COMPARE_SIDES_H

#include "values.h"

typedef enum cli_side_kind { CLI_SIDE_RUN, CLI_SIDE_FOLDER, CLI_SIDE_NPZ, CLI_SIDE_RUNTIME } cli_side_kind;
typedef struct cli_side {
  cli_side_kind kind;
  const char *path; /* as it was given */
  cli_model model;  /* of RUN */
  bool plain;       /* of RUN: the model as it was imported, on the reference */
  cli_values values;
  char folder[4096]; /* temporary */
} cli_side;

typedef struct cli_layer {
  char *name, *step, *op, *tactic; /* step NULL: not from a run */
  char *origins;                   /* of the step, ", " between; NULL: one, of its name */
  int origin_count;
  bool is_output, over;
  hone_type type;
  cli_distance distance;
} cli_layer;

typedef struct cli_layers {
  cli_tool *cli;
  const cli_values *other; /* the side that is kept or lies in files */
  bool other_is_got;
  const cli_model *outputs; /* whose outputs count as such; NULL: not known */
  bool outputs_only;
  double tolerance, floor;
  cli_layer *items;
  int count, capacity, over, missing, apart; /* missing: the other side has none; apart: of another shape or kind */
  int code;
} cli_layers;

hone_status cli_layers_tap(void *layers, const hone_tap *tap); /* an on_tap: compares */
void cli_layers_add(cli_layers *layers, const char *name, const hone_tap *tap, const hone_tensor *tensor);
const cli_layer *cli_layers_first(const cli_layers *layers); /* over the tolerance; NULL: none */
void cli_layers_free(cli_layers *layers);

/* Where a fused step that is over diverges inside. */
typedef struct cli_inside {
  bool looked;
  char value[512], node[512]; /* "": taken apart, it is right */
  double rel_l2;
} cli_inside;
void cli_layers_print(const cli_layers *layers, const cli_inside *inside, bool histogram);
void cli_layers_json(const cli_layers *layers, const cli_inside *inside);

#endif
