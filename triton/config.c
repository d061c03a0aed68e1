/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - a model's configuration (config.pbtxt, as the server's JSON) against its engine, and what it leaves out.
 */
#include "backend.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The server writes numbers of 64 bits as numbers or as texts. */
static int64_t number_of(const hn_json *item) {
  if (item && item->kind == HN_JSON_STRING) return strtoll(item->string, NULL, 10);
  return item && item->kind == HN_JSON_INT ? item->i : 0;
}

static const char *text_of(const hn_json *object, const char *key) {
  const hn_json *item = hn_json_get(object, key);
  return item && item->kind == HN_JSON_STRING ? item->string : "";
}

static size_t length_of(const hn_json *object, const char *key) {
  const hn_json *item = hn_json_get(object, key);
  return item && item->kind == HN_JSON_ARRAY ? item->length : 0;
}

/* ---- parameters ---- */

typedef struct parameter {
  const char *key;
  size_t at, room;   /* of a text in trt_config; room 0: an int */
  int64_t low, high; /* of numbers */
} parameter;
static const parameter parameters[] = {
    {"threads", offsetof(trt_config, threads), 0, 1, HONE_MAX_THREADS},
    {"level", offsetof(trt_config, level), 0, 0, 5},
    {"cache_dir", offsetof(trt_config, cache_dir), sizeof((trt_config *)0)->cache_dir, 0, 0},
    {"timing_cache", offsetof(trt_config, timing_cache), sizeof((trt_config *)0)->timing_cache, 0, 0},
};

static hone_status read_parameter(const parameter *p, const char *text, trt_config *out, hone_diagnostics *diag) {
  void *field = (char *)out + p->at;
  if (p->room > 0) {
    if (strlen(text) >= p->room) return hone_fail(diag, HONE_INVALID, "parameter \"%s\" is too long", p->key);
    hn_copy_text(field, p->room, text);
    return HONE_OK;
  }
  char *end;
  const int64_t value = strtoll(text, &end, 10);
  if (end == text || *end || value < p->low || value > p->high)
    return hone_fail(diag, HONE_INVALID, "parameter \"%s\" is \"%s\"; allowed: %lld to %lld", p->key, text,
                     (long long)p->low, (long long)p->high);
  *(int *)field = (int)value;
  return HONE_OK;
}

hone_status trt_config_read(const hn_json *root, trt_config *out, hone_diagnostics *diag) {
  const hn_json *given = hn_json_get(root, "parameters");
  *out = (trt_config){.threads = 1, .level = 3, .max_batch = number_of(hn_json_get(root, "max_batch_size"))};
  hn_copy_text(out->file, sizeof out->file, text_of(root, "default_model_filename"));
  for (size_t i = 0; given && i < given->length; ++i) {
    const hn_json *item = &given->items[i];
    const char *near = NULL;
    const parameter *found = NULL;
    for (size_t p = 0; p < HN_COUNT(parameters); ++p) {
      if (strcmp(item->key, parameters[p].key) == 0) found = &parameters[p];
      near = hone_nearest_name(item->key, near, parameters[p].key);
    }
    if (!found && near) /* others may be for the client to read */
      return hone_fail(diag, HONE_INVALID, "parameter \"%s\" is not known; did you mean \"%s\"?", item->key, near);
    if (found) HN_TRY(read_parameter(found, text_of(item, "string_value"), out, diag));
  }
  return HONE_OK;
}

/* ---- checks ---- */

static hone_status check_port(const hn_json *item, const srv_port *port, const char *what, int skip,
                              hone_diagnostics *diag) {
  const hn_json *dims = hn_json_get(item, "dims");
  const char *type = text_of(item, "data_type");
  char want[128];
  hone_shape shape = {.rank = port->shape.rank - skip};
  for (int d = 0; d < shape.rank; ++d) shape.dim[d] = port->shape.dim[d + skip];
  srv_shape_text(&shape, want, sizeof want);
  if (strncmp(type, "TYPE_", 5) != 0 || strcmp(type + 5, port->type->name) != 0)
    return hone_fail(diag, HONE_INVALID, "%s \"%s\": data_type is %s; the engine's is TYPE_%s", what, port->name, type,
                     port->type->name);
  if (hn_json_get(item, "reshape"))
    return hone_fail(diag, HONE_INVALID, "%s \"%s\": reshape is not supported", what, port->name);
  if (length_of(item, "dims") != (size_t)shape.rank)
    return hone_fail(diag, HONE_INVALID, "%s \"%s\": %zu dims; the engine has %s%s", what, port->name,
                     length_of(item, "dims"), want, skip ? " behind the batch" : "");
  for (int d = 0; d < shape.rank; ++d) {
    const int64_t dim = number_of(&dims->items[d]);
    if (shape.dim[d] >= 0 && dim != shape.dim[d])
      return hone_fail(diag, HONE_INVALID, "%s \"%s\": dim %d is %lld; the engine has %s", what, port->name, d,
                       (long long)dim, want);
  }
  return HONE_OK;
}

static hone_status check_ports(const hn_json *root, const char *key, const srv_port *ports, int count, int skip,
                               bool all, hone_diagnostics *diag) {
  const hn_json *list = hn_json_get(root, key);
  bool seen[SRV_MAX_PORTS] = {false};
  for (size_t i = 0; i < length_of(root, key); ++i) {
    const char *name = text_of(&list->items[i], "name"), *near = NULL;
    int at = -1;
    for (int k = 0; k < count; ++k) {
      if (strcmp(ports[k].name, name) == 0) at = k;
      near = hone_nearest_name(name, near, ports[k].name);
    }
    if (at < 0)
      return hone_fail(diag, HONE_INVALID, "the engine has no %s \"%s\"%s%s%s", key, name,
                       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    HN_TRY(check_port(&list->items[i], &ports[at], key, skip, diag));
    seen[at] = true;
  }
  for (int k = 0; all && k < count; ++k)
    if (!seen[k]) return hone_fail(diag, HONE_INVALID, "the engine's %s \"%s\" is missing", key, ports[k].name);
  return HONE_OK;
}

hone_status trt_config_check(const hn_json *root, const srv_ports *ports, trt_config *config, hone_diagnostics *diag) {
  if (config->max_batch > 0 && ports->max_batch == 0)
    return hone_fail(
        diag, HONE_INVALID,
        "max_batch_size is %lld, but the first dims of the engine's inputs and outputs are not one free dim: "
        "set it to 0, or build for a range of batches",
        (long long)config->max_batch);
  if (config->max_batch > ports->max_batch)
    return hone_fail(diag, HONE_INVALID, "max_batch_size is %lld; the engine takes at most %d",
                     (long long)config->max_batch, ports->max_batch);
  const int skip = config->max_batch > 0;
  HN_TRY(check_ports(root, "input", ports->in, ports->in_count, skip, true, diag));
  return check_ports(root, "output", ports->out, ports->out_count, skip, false, diag);
}

/* ---- what is left out ---- */

static void put_ports(hn_json_writer *w, const char *key, const srv_port *ports, int count, bool batched) {
  char type[16];
  hn_json_open(w, key, '[');
  for (int i = 0; i < count; ++i) {
    (void)snprintf(type, sizeof type, "TYPE_%s", ports[i].type->name);
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", ports[i].name);
    hn_json_put_text(w, "data_type", type);
    hn_json_open_flat(w, "dims", '[');
    for (int d = batched; d < ports[i].shape.rank; ++d)
      hn_json_put_int(w, NULL, ports[i].shape.dim[d] < 0 ? -1 : ports[i].shape.dim[d]);
    hn_json_close(w, ']');
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

/* Triton advises preferred sizes only where sizes are tuned for, as our schedules are. */
static void put_batching(hn_json_writer *w, const srv_ports *ports, int64_t max_batch) {
  bool seen[SRV_MAX_BATCH + 1] = {false};
  hn_json_open_flat(w, "dynamic_batching", '{');
  hn_json_open_flat(w, "preferred_batch_size", '[');
  for (int s = 0; s < ports->schedule_count; ++s) {
    const int64_t opt = ports->schedules[s * ports->in_count].opt.dim[0];
    if (opt < 2 || opt > max_batch || seen[opt]) continue;
    hn_json_put_int(w, NULL, opt);
    seen[opt] = true;
  }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

bool trt_config_complete(const hn_json *root, const srv_ports *ports, hn_text *out) {
  const bool no_in = length_of(root, "input") == 0, no_out = length_of(root, "output") == 0;
  const int64_t given = number_of(hn_json_get(root, "max_batch_size"));
  const int64_t max_batch = given == 0 && no_in && no_out ? ports->max_batch : given;
  const bool batching = max_batch > 1 && !hn_json_get(root, "dynamic_batching") &&
                        !hn_json_get(root, "sequence_batching") && !hn_json_get(root, "ensemble_scheduling");
  if (!no_in && !no_out && !batching) return false;
  hn_json_writer w;
  hn_json_begin(&w, out);
  hn_json_open(&w, NULL, '{');
  for (size_t i = 0; i < root->length; ++i) {
    const hn_json *item = &root->items[i];
    const bool ours = (no_in && strcmp(item->key, "input") == 0) || (no_out && strcmp(item->key, "output") == 0) ||
                      strcmp(item->key, "max_batch_size") == 0;
    if (!ours) hn_json_put(&w, item->key, item);
  }
  hn_json_put_int(&w, "max_batch_size", max_batch);
  if (no_in) put_ports(&w, "input", ports->in, ports->in_count, max_batch > 0);
  if (no_out) put_ports(&w, "output", ports->out, ports->out_count, max_batch > 0);
  if (batching) put_batching(&w, ports, max_batch);
  hn_json_close(&w, '}');
  return !out->failed;
}
