/* SPDX-License-Identifier: Apache-2.0 */
/* compare_layers.c - the layers of hone compare: each value held against the other side's, and the list of them said.
 */
#include "compare_sides.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparing ---- */

static bool is_output(const cli_layers *layers, const char *name) {
  if (!layers->outputs) return false;
  const hone_engine *engine = layers->outputs->engine;
  hone_port_info port = HONE_SIZED(hone_port_info);
  for (int i = 0; i < hone_engine_output_count(engine); ++i)
    if (hone_engine_output(engine, i, &port) == HONE_OK && strcmp(port.name, name) == 0) return true;
  return false;
}

static cli_layer *new_layer(cli_layers *layers) {
  if (layers->count == layers->capacity) {
    const int capacity = layers->capacity ? 2 * layers->capacity : 64;
    cli_layer *larger = realloc(layers->items, (size_t)capacity * sizeof *larger);
    if (!larger) return NULL;
    layers->items = larger;
    layers->capacity = capacity;
  }
  cli_layer *layer = &layers->items[layers->count++];
  *layer = (cli_layer){0};
  return layer;
}

static char *copy(const char *text) { return text ? strdup(text) : NULL; }

static char *join(const char *const *names, int count) {
  size_t bytes = 1, used = 0;
  for (int i = 0; i < count; ++i) bytes += strlen(names[i]) + 2;
  char *text = calloc(1, bytes);
  for (int i = 0; text && i < count; ++i)
    used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? ", " : "", names[i]);
  return text;
}

void cli_layers_add(cli_layers *layers, const char *name, const hone_tap *tap, const hone_tensor *tensor) {
  hone_tensor other;
  bool found;
  const bool output = is_output(layers, name);
  if (layers->outputs_only && layers->outputs && !output) return;
  layers->code = cli_values_get(layers->other, name, tap ? tap->turn : 0, &other, &found);
  if (layers->code != CLI_EXIT_OK) return;
  if (!found) {
    ++layers->missing;
    return;
  }
  cli_layer *layer = new_layer(layers);
  if (!layer) {
    cli_error("out of memory");
    layers->code = CLI_EXIT_NO_MEMORY;
  } else {
    const hone_tensor *got = layers->other_is_got ? &other : tensor, *want = layers->other_is_got ? tensor : &other;
    *layer = (cli_layer){.name = copy(name), .is_output = output, .type = want->type};
    cli_distance_of(got, want, &layer->distance);
    layer->over = cli_distance_is_over(&layer->distance, want, layers->tolerance, layers->floor) ||
                  (output && !layer->distance.comparable);
    if (tap) {
      layer->step = copy(tap->step);
      layer->op = copy(tap->op);
      layer->tactic = copy(tap->tactic);
      layer->origin_count = tap->origin_count;
      layer->origins = tap->origin_count > 0 ? join(tap->origins, tap->origin_count) : NULL;
    }
    layers->over += layer->over;
    layers->apart += !layer->distance.comparable;
  }
  cli_values_drop(layers->other, &other);
}

hone_status cli_layers_tap(void *user, const hone_tap *tap) {
  cli_layers *layers = user;
  if (!tap->step || tap->tensor->type.kind != HONE_TENSOR || tap->tensor->type.dtype == HONE_STRING) return HONE_OK;
  cli_layers_add(layers, tap->name, tap, tap->tensor);
  return layers->code == CLI_EXIT_OK ? HONE_OK : HONE_CANCELLED;
}

const cli_layer *cli_layers_first(const cli_layers *layers) {
  for (int i = 0; i < layers->count; ++i)
    if (layers->items[i].over) return &layers->items[i];
  return NULL;
}

void cli_layers_free(cli_layers *layers) {
  for (int i = 0; i < layers->count; ++i) {
    cli_layer *layer = &layers->items[i];
    char *const texts[] = {layer->name, layer->step, layer->op, layer->tactic, layer->origins};
    for (size_t k = 0; k < CLI_COUNT(texts); ++k) free(texts[k]);
  }
  free(layers->items);
  layers->items = NULL;
  layers->count = layers->capacity = 0;
}

/* ---- for people ---- */

static void print_cut(const char *text, int width) { /* the end of a name says most */
  const int length = (int)strlen(text);
  if (length > width)
    printf("..%-*s", width - 2, text + length - width + 2);
  else
    printf("%-*s", width, text);
}

static void print_row(const cli_layer *layer, int width) {
  const cli_distance *d = &layer->distance;
  print_cut(layer->name, width);
  printf(" %-14.14s", layer->op ? layer->op : "");
  if (!d->comparable) {
    printf(" of another shape or kind%s\n", layer->over ? "  OVER" : "");
    return;
  }
  printf(" %9.2e %9.2e %9.2e %10.7f ", d->max_abs, d->max_rel, d->rel_l2, d->cosine);
  if (isfinite(d->snr_db))
    printf("%7.1f", d->snr_db);
  else
    printf("%7s", d->snr_db > 0 ? "equal" : "-");
  printf("%s\n", layer->over ? "  OVER" : "");
}

static void print_histogram(const cli_layer *layer) {
  const cli_distance *d = &layer->distance;
  if (!d->comparable || d->count == 0) return;
  printf("\n|difference| of %s:\n", layer->name);
  for (int i = 0; i < CLI_DECADES; ++i) {
    char name[16];
    if (d->decades[i] == 0) continue;
    cli_decade_name(i, name, sizeof name);
    const double share = (double)d->decades[i] / (double)d->count;
    printf("  %6s %6.2f %% ", name, 100 * share);
    for (int k = 0; k < (int)(share * 50 + 0.5); ++k) putchar('#');
    printf("\n");
  }
}

static void print_first(const cli_layers *layers, const cli_layer *first, const cli_inside *inside) {
  const cli_distance *d = &first->distance;
  printf("\nfirst layer that diverges: %s", first->name);
  if (first->step && strcmp(first->step, first->name) != 0) printf(", of the step %s", first->step);
  if (first->op) printf(" (%s%s%s)", first->op, first->tactic ? ", " : "", first->tactic ? first->tactic : "");
  if (!d->comparable) {
    printf(", of another shape or kind\n");
  } else {
    printf(": relative L2 %.3g is over %.3g; worst at ", d->rel_l2, layers->tolerance);
    cli_print_position(stdout, &first->type.shape, d->worst_at);
    printf(": %.9g, wanted %.9g\n", d->worst_got, d->worst_want);
  }
  if (first->origin_count > 1) printf("  it stands for %s\n", first->origins);
  if (!inside->looked) return;
  if (inside->value[0])
    printf("  inside it: %s, which node %s writes, is the first to diverge (relative L2 %.3g)\n", inside->value,
           inside->node, inside->rel_l2);
  else
    printf(
        "  its layers are right when they run apart: the fused step itself is at fault; --tactic '%s=parts' takes it "
        "apart\n",
        first->step);
}

void cli_layers_print(const cli_layers *layers, const cli_inside *inside, bool histogram) {
  int width = 5;
  for (int i = 0; i < layers->count; ++i) {
    const int length = (int)strlen(layers->items[i].name);
    if (length > width) width = length;
  }
  const int most = layers->cli->width - 73;
  if (width > most) width = most < 12 ? 12 : most;
  printf("%-*s %-14s %9s %9s %9s %10s %7s\n", width, "value", "operator", "max abs", "max rel", "rel L2", "cosine",
         "SNR dB");
  for (int i = 0; i < layers->count; ++i) print_row(&layers->items[i], width);
  const cli_layer *first = cli_layers_first(layers);
  for (int i = 0; histogram && i < layers->count; ++i)
    if (layers->items[i].over || layers->items[i].is_output) print_histogram(&layers->items[i]);
  if (first) print_first(layers, first, inside);
  printf("\n%d values compared, %d over %.3g", layers->count, layers->over, layers->tolerance);
  if (layers->missing) printf("; %d that only one side has", layers->missing);
  if (layers->apart) printf("; %d of another shape or kind", layers->apart);
  printf("\n");
}

/* ---- for machines ---- */

static void put_text(const char *key, const char *text) {
  if (!text) return;
  printf(", \"%s\": ", key);
  cli_json_text(stdout, text);
}

static void put_real(const char *key, double value) { /* JSON has no infinities */
  if (isfinite(value))
    printf(", \"%s\": %.9g", key, value);
  else
    printf(", \"%s\": \"%s\"", key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static void put_layer(const cli_layer *layer) {
  const cli_distance *d = &layer->distance;
  printf("{\"name\": ");
  cli_json_text(stdout, layer->name);
  put_text("step", layer->step);
  put_text("op", layer->op);
  put_text("tactic", layer->tactic);
  put_text("stands_for", layer->origins);
  printf(", \"output\": %s, \"comparable\": %s", layer->is_output ? "true" : "false", d->comparable ? "true" : "false");
  if (d->comparable) {
    printf(", \"elements\": %lld", (long long)d->count);
    put_real("max_abs", d->max_abs);
    put_real("mean_abs", d->mean_abs);
    put_real("max_rel", d->max_rel);
    put_real("rel_l2", d->rel_l2);
    put_real("cosine", d->cosine);
    put_real("snr_db", d->snr_db);
    printf(", \"histogram\": {");
    for (int i = 0; i < CLI_DECADES; ++i) {
      char name[16];
      cli_decade_name(i, name, sizeof name);
      printf("%s\"%s\": %lld", i ? ", " : "", name, (long long)d->decades[i]);
    }
    printf("}");
  }
  printf(", \"over\": %s}", layer->over ? "true" : "false");
}

void cli_layers_json(const cli_layers *layers, const cli_inside *inside) {
  const cli_layer *first = cli_layers_first(layers);
  printf(CLI_JSON_BEGIN "\"tolerance\": %.9g, \"layers\": [", layers->tolerance);
  for (int i = 0; i < layers->count; ++i) {
    if (i) printf(", ");
    put_layer(&layers->items[i]);
  }
  printf("], \"first\": ");
  if (first)
    cli_json_text(stdout, first->name);
  else
    printf("null");
  if (inside->looked) {
    printf(", \"inside\": ");
    if (inside->value[0])
      cli_json_text(stdout, inside->node);
    else
      printf("null");
  }
  printf(", \"compared\": %d, \"over\": %d, \"missing\": %d, \"apart\": %d, \"within\": %s}\n", layers->count,
         layers->over, layers->missing, layers->apart, layers->over ? "false" : "true");
}
