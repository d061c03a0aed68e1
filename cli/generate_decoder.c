/* SPDX-License-Identifier: Apache-2.0 */
/* generate_decoder.c - a decoder's ports, its engine for a prompt and for single tokens, and its runs, in which the
 * caches stay where they are. */
#include "generate.h"
#include <stdlib.h>
#include <string.h>

typedef struct ports {
  hone_port_info in[CLI_MAX_INPUTS];
  int count;
} ports;

static bool begins(const char *name, const char *with) { return strncmp(name, with, strlen(with)) == 0; }

/* past_key_values.0.key or past.0.key, whose output is present.0.key. NULL: no cache. */
static const char *cache_rest(const char *name) {
  if (begins(name, "past_key_values")) return name + strlen("past_key_values");
  return begins(name, "past.") ? name + strlen("past") : NULL;
}

static int find_ports(cli_decoder *d, const ports *all) {
  for (int i = 0; i < all->count; ++i) {
    const char *name = all->in[i].name, *rest = cache_rest(name);
    if (strcmp(name, "input_ids") == 0) d->ids = name;
    if (strcmp(name, "attention_mask") == 0) d->mask = name;
    if (strcmp(name, "position_ids") == 0) d->positions = name;
    if (strcmp(name, "write_indices") == 0) d->places = name;
    if (strcmp(name, "nonpad_kv_seqlen") == 0) d->lengths = name;
    if (!rest) continue;
    if (d->state_count == CLI_MAX_STATES || strlen(rest) + sizeof "present" > sizeof d->output_names[0])
      return cli_usage_error(d->cli, "%s: more than %d caches, or too long a name", name, CLI_MAX_STATES);
    char *output = d->output_names[d->state_count];
    (void)snprintf(output, sizeof d->output_names[0], "present%s", rest);
    d->states[d->state_count++] = (hone_session_state){.input = name, .output = output};
  }
  if (d->ids && d->state_count > 0) return CLI_EXIT_OK;
  cli_error("the model is no decoder with caches: it wants an input input_ids and inputs past_key_values.N.key and "
            "past_key_values.N.value (or past.N...), with outputs present.N.key and present.N.value");
  return CLI_EXIT_UNSUPPORTED;
}

/* Columns of the mask for so many tokens. */
static int64_t mask_columns(const cli_decoder *d, int64_t tokens) { return d->capacity + (d->appends ? tokens : 0); }

/* The shape of an input for `tokens` of one sequence. */
static hone_shape shape_for(const cli_decoder *d, const hone_port_info *port, int64_t tokens) {
  hone_shape shape = port->type.shape;
  if (shape.rank > 0 && shape.dim[0] < 0) shape.dim[0] = 1;
  const int length = cache_rest(port->name) ? 2 : 1;
  const bool of_tokens = port->name == d->ids || port->name == d->positions;
  const int64_t extent = of_tokens ? tokens : port->name == d->mask ? mask_columns(d, tokens) : d->capacity;
  for (int i = 1; i < shape.rank; ++i)
    if (shape.dim[i] < 0) shape.dim[i] = i == length ? extent : 1;
  return shape;
}

typedef struct profiles {
  const cli_decoder *decoder;
  const ports *all;
  int64_t prompt;
  hone_profile_shape shapes[2 * CLI_MAX_INPUTS];
} profiles;

/* Two schedules: of single tokens, and of the prompt. */
static void set_profiles(void *user, hone_build_options *options) {
  profiles *p = user;
  const int count = p->prompt > 1 ? 2 : 1;
  options->shapes = p->shapes;
  options->shape_count = 0;
  for (int k = 0; k < count; ++k)
    for (int i = 0; i < p->all->count; ++i) {
      const hone_shape shape = shape_for(p->decoder, &p->all->in[i], k == 0 ? 1 : p->prompt);
      p->shapes[options->shape_count++] =
          (hone_profile_shape){.input = p->all->in[i].name, .min = shape, .opt = shape, .max = shape, .profile = k};
    }
}

static void see_node(void *user, const hone_node_info *node) {
  bool *found = user;
  enum { PAST_KEY = 4 };
  if (strcmp(node->op, "attention") == 0 && node->in_count > PAST_KEY && node->in[PAST_KEY]) *found = true;
}

static int build(cli_decoder *d, cli_model *model, int64_t prompt) {
  ports *all = calloc(1, sizeof *all);
  profiles *p = calloc(1, sizeof *p);
  int code = CLI_EXIT_NO_MEMORY;
  if (all && p) {
    all->count = cli_ports_of_graph(model->graph, all->in, CLI_MAX_INPUTS);
    *p = (profiles){.decoder = d, .all = all, .prompt = prompt};
    code = find_ports(d, all); /* the graph's names, which the engine's replace */
    hone_graph_visit_nodes(model->graph, see_node, &d->appends);
    model->adjust = set_profiles;
    model->adjust_user = p;
    if (code == CLI_EXIT_OK) code = cli_build_engine(d->cli, model);
    model->adjust = NULL;
  } else {
    cli_error("out of memory");
  }
  free(p);
  free(all);
  return code;
}

/* How many tokens the engine's caches hold, over all of its schedules; fewer where that was asked for. */
static void read_capacity(cli_decoder *d) {
  const hone_engine *engine = d->engine;
  const int64_t wanted = d->capacity;
  d->capacity = INT64_MAX;
  for (int i = 0; i < hone_engine_input_count(engine); ++i) {
    hone_port_info info = HONE_SIZED(hone_port_info);
    int64_t most = 0;
    if (hone_engine_input(engine, i, &info) != HONE_OK || !cache_rest(info.name)) continue;
    for (int k = 0; k < hone_engine_schedule_count(engine); ++k) {
      if (hone_engine_schedule_input(engine, k, i, &info) != HONE_OK) continue;
      if (info.max.rank == 4 && info.max.dim[2] > most) most = info.max.dim[2];
    }
    if (most < d->capacity) d->capacity = most;
  }
  if (wanted > 0 && wanted < d->capacity) d->capacity = wanted;
}

/* Are present caches longer than past ones, by the new tokens? Then positions must be told: they follow from no extent.
 */
static int find_growth(cli_decoder *d) {
  hone_port_info past = HONE_SIZED(hone_port_info), present = HONE_SIZED(hone_port_info);
  d->appends = false;
  for (int i = 0; i < hone_engine_input_count(d->engine); ++i)
    if (hone_engine_input(d->engine, i, &past) == HONE_OK && strcmp(past.name, d->states[0].input) == 0) break;
  for (int i = 0; i < hone_engine_output_count(d->engine); ++i)
    if (hone_engine_output(d->engine, i, &present) == HONE_OK && strcmp(present.name, d->states[0].output) == 0)
      d->appends = past.type.shape.rank == 4 && past.type.shape.dim[2] >= 0 && present.type.shape.rank == 4 &&
                   present.type.shape.dim[2] != past.type.shape.dim[2];
  if (!d->appends || d->positions) return CLI_EXIT_OK;
  cli_error(
      "the model's caches grow by each token, and it has no input position_ids: where a token stands would follow "
      "from the extent of a cache, which stays the same when it is kept in place");
  return CLI_EXIT_UNSUPPORTED;
}

static int name_ports(cli_decoder *d) {
  const hone_engine *engine = d->engine;
  ports *all = calloc(1, sizeof *all);
  if (!all) {
    cli_error("out of memory");
    return CLI_EXIT_NO_MEMORY;
  }
  for (int i = 0; i < hone_engine_input_count(engine) && i < CLI_MAX_INPUTS; ++i, ++all->count) {
    all->in[i] = HONE_SIZED(hone_port_info);
    if (hone_engine_input(engine, i, &all->in[i]) != HONE_OK) break;
  }
  const int code = find_ports(d, all);
  free(all);
  return code == CLI_EXIT_OK ? find_growth(d) : code;
}

static int set_shape(const cli_decoder *d, int input, int64_t tokens) {
  hone_port_info info = HONE_SIZED(hone_port_info);
  hone_status status = hone_engine_input(d->engine, input, &info);
  if (status != HONE_OK) return cli_fail(d->cli, status);
  const hone_shape shape = shape_for(d, &info, tokens);
  status = hone_session_set_shape(d->session, info.name, shape.rank, shape.dim);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail_session(d->cli, d->session, status);
}

/* All together: what one input's shape is alone, another's may refuse. */
static int set_shapes(cli_decoder *d, int64_t tokens) {
  if (d->shaped == tokens) return CLI_EXIT_OK;
  d->shaped = tokens;
  int code = CLI_EXIT_OK;
  for (int i = 0; code == CLI_EXIT_OK && i < hone_engine_input_count(d->engine); ++i) code = set_shape(d, i, tokens);
  return code;
}

static int open_session(cli_decoder *d) {
  hone_session_options options;
  cli_session_options_read(d->cli, &options);
  options.states = d->states;
  options.state_count = d->state_count;
  const hone_status status =
      hone_session_create(d->engine, &options, &d->session, hone_context_diagnostics(d->cli->context));
  if (status != HONE_OK) return cli_fail(d->cli, status);
  const int code = set_shapes(d, 1);
  if (code != CLI_EXIT_OK) return code;
  for (int i = 0; i < d->state_count; ++i) {
    hone_tensor cache;
    const hone_status got = hone_session_tensor(d->session, d->states[i].input, &cache);
    if (got != HONE_OK) return cli_fail_session(d->cli, d->session, got);
    d->state_bytes += (int64_t)cache.bytes;
  }
  return CLI_EXIT_OK;
}

int cli_decoder_open(cli_tool *cli, cli_model *model, int64_t prompt, int64_t capacity, cli_decoder *out) {
  *out = (cli_decoder){.cli = cli, .capacity = capacity};
  int code = model->engine ? CLI_EXIT_OK : build(out, model, prompt);
  if (code != CLI_EXIT_OK) return code;
  out->engine = model->engine;
  out->ids = out->mask = out->positions = out->places = out->lengths = NULL;
  out->state_count = 0;
  code = name_ports(out);
  if (code != CLI_EXIT_OK) return code;
  read_capacity(out);
  out->room = calloc(4 * (size_t)out->capacity + 1, sizeof *out->room);
  if (out->room) return open_session(out);
  cli_error("out of memory");
  return CLI_EXIT_NO_MEMORY;
}

void cli_decoder_close(cli_decoder *d) {
  hone_session_destroy(d->session);
  free(d->room);
  d->session = NULL;
  d->room = NULL;
}

static hone_status put(const cli_decoder *d, const char *input, int64_t count, int64_t *values) {
  const hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = HONE_I64, .shape = {.rank = 2, .dim = {1, count}}},
                              .data = values,
                              .bytes = (size_t)count * sizeof *values};
  return input ? hone_session_copy_in(d->session, input, &tensor) : HONE_OK;
}

/* One number of the sequence. */
static hone_status put_one(const cli_decoder *d, const char *input, int64_t value) {
  const hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = HONE_I64, .shape = {.rank = 1, .dim = {1}}},
                              .data = &value,
                              .bytes = sizeof value};
  return input ? hone_session_copy_in(d->session, input, &tensor) : HONE_OK;
}

/* Ones for the tokens in the caches, and behind these, or behind all that the caches hold, for the new ones. */
static void fill_mask(const cli_decoder *d, int64_t count, int64_t *mask) {
  const int64_t columns = mask_columns(d, count), fresh = d->appends ? d->capacity : d->length;
  for (int64_t i = 0; i < columns; ++i) mask[i] = i < d->length || (i >= fresh && i < fresh + count);
}

/* One run of `count` tokens. */
static hone_status run(cli_decoder *d, const int64_t *tokens, int64_t count) {
  int64_t *ids = d->room, *positions = ids + d->capacity, *mask = positions + d->capacity;
  hone_tensor logits;
  hone_status status;
  for (int64_t i = 0; i < count; ++i) {
    ids[i] = tokens[i];
    positions[i] = d->length + i;
  }
  fill_mask(d, count, mask);
  if (d->appends && (status = hone_session_set_state_length(d->session, d->length)) != HONE_OK) return status;
  if ((status = put(d, d->ids, count, ids)) != HONE_OK) return status;
  if ((status = put(d, d->positions, count, positions)) != HONE_OK) return status;
  if ((status = put(d, d->mask, mask_columns(d, count), mask)) != HONE_OK) return status;
  if ((status = put_one(d, d->places, d->length)) != HONE_OK) return status;
  if ((status = put_one(d, d->lengths, d->length + count)) != HONE_OK) return status;
  if ((status = hone_session_run(d->session)) != HONE_OK) return status;
  d->length += count;
  if ((status = hone_session_tensor(d->session, "logits", &logits)) != HONE_OK) return status;
  const hone_shape *shape = &logits.type.shape;
  if (logits.type.dtype != HONE_F32 || shape->rank != 3 || shape->dim[1] != count)
    return hone_fail(hone_session_diagnostics(d->session), HONE_UNSUPPORTED, "logits are not f32[1, %lld, vocabulary]",
                     (long long)count);
  d->vocabulary = shape->dim[2];
  d->logits = (const float *)logits.data + (count - 1) * d->vocabulary;
  return HONE_OK;
}

/* The most tokens, up to `count`, that some schedule takes at once. */
static int64_t allowed(const cli_decoder *d, int64_t count) {
  int64_t best = 1;
  for (int k = 0; k < hone_engine_schedule_count(d->engine); ++k)
    for (int i = 0; i < hone_engine_input_count(d->engine); ++i) {
      hone_port_info info = HONE_SIZED(hone_port_info);
      if (hone_engine_schedule_input(d->engine, k, i, &info) != HONE_OK || strcmp(info.name, d->ids) != 0) continue;
      const int64_t most = info.max.dim[1] < count ? info.max.dim[1] : count;
      if (info.min.dim[1] <= most && most > best) best = most;
    }
  return best;
}

int cli_decoder_feed(cli_decoder *d, const int64_t *tokens, int64_t count) {
  while (count > 0) {
    const int64_t now = count == 1 ? 1 : allowed(d, count);
    int code = set_shapes(d, now);
    if (code != CLI_EXIT_OK) return code;
    const hone_status status = run(d, tokens, now);
    if (status != HONE_OK) return cli_fail_session(d->cli, d->session, status);
    code = cli_stop_code();
    if (code != CLI_EXIT_OK) return code;
    tokens += now;
    count -= now;
  }
  return CLI_EXIT_OK;
}
