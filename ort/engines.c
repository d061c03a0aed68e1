/* SPDX-License-Identifier: Apache-2.0 */
/* engines.c - the engines of a partition. Without free dims there is one, built with the session; so, too, where the
 * profile options name all inputs with free dims. Else engines are built for what comes: the first for exactly its
 * shapes; when others come, one for a range around all that came, so that few are built. */
#include "ep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREPARED_SHAPES = 16 }; /* that a session keeps */

/* ---- the cache ---- */

static void add_shape(ep_bytes *text, const hone_shape *shape) {
  for (int d = 0; d < shape->rank; ++d) ep_bytes_printf(text, "x%lld", (long long)shape->dim[d]);
  ep_bytes_printf(text, ",");
}

/* The file of an engine: a name from all that makes it what it is. "": there is no cache. */
static OrtStatus *cache_path(const ep_partition_state *part, const hone_profile_shape *shapes, int count, char *out,
                             size_t room) {
  const ep_provider *p = part->provider;
  char options[512], hash[33];
  ep_bytes salt = {0};
  *out = 0;
  if (!*p->options.cache_dir) return NULL;
  ep_options_text(&p->options, options, sizeof options);
  ep_bytes_printf(&salt, "%s; %d threads; %s;", p->compatibility, p->threads, options);
  for (int i = 0; i < count; ++i) {
    ep_bytes_printf(&salt, "%s %d ", shapes[i].input, shapes[i].profile);
    add_shape(&salt, &shapes[i].min);
    add_shape(&salt, &shapes[i].opt);
    add_shape(&salt, &shapes[i].max);
  }
  ep_bytes_add(&salt, "", 1);
  if (salt.failed) {
    free(salt.data);
    return ep_fail_memory(p->ort);
  }
  ep_model_hash(&part->model, true, (const char *)salt.data, hash);
  free(salt.data);
  if (snprintf(out, room, "%s/%s.hone", p->options.cache_dir, hash) >= (int)room)
    return ep_fail(p->ort, ORT_ERROR_INVALID_ARGUMENT, "hone: the path of cache_dir is too long");
  return NULL;
}

static void say_damaged(const ep_provider *p, const char *path, const char *why) {
  ep_log(p->ort, p->logger, ORT_LOG_WARNING, "hone: %s is built again, since its file is of no use: %s", path, why);
}

/* A file that is not there, damaged, or of another machine is no reason to fail. */
static hone_engine *load_cached(ep_provider *p, const char *path) {
  hone_engine *engine = NULL;
  if (!*path) return NULL;
  hone_context_clear_messages(p->context);
  const hone_status status = hone_engine_load(p->context, path, &p->device, 1, &engine);
  if (status == HONE_OK) {
    ep_log(p->ort, p->logger, ORT_LOG_INFO, "hone: engine from the cache: %s", path);
    return engine;
  }
  if (status != HONE_IO) say_damaged(p, path, hone_context_message(p->context, 0, NULL));
  return NULL;
}

static void save_cached(ep_provider *p, const hone_engine *engine, const char *path) {
  if (!*path) return;
  hone_context_clear_messages(p->context);
  if (hone_engine_save(engine, path, hone_context_diagnostics(p->context)) != HONE_OK)
    ep_log(p->ort, p->logger, ORT_LOG_WARNING, "hone: the engine could not be kept in the cache: %s",
           hone_context_message(p->context, 0, NULL));
}

/* ---- building ---- */

static void build_options(const ep_provider *p, const hone_profile_shape *shapes, int count, hone_build_options *out) {
  const ep_options *o = &p->options;
  *out = (hone_build_options){.struct_size = sizeof *out,
                              .shapes = shapes,
                              .shape_count = count,
                              .level = o->level == 0 ? -1 : o->level,
                              .timing_cache_path = *o->timing_cache ? o->timing_cache : NULL,
                              .time_budget_ms = o->time_budget_ms,
                              .precisions = (o->fp16 ? HONE_BIT(HONE_F16) : 0) | (o->bf16 ? HONE_BIT(HONE_BF16) : 0) |
                                            (o->tf32 ? HONE_BIT(HONE_TF32) : 0),
                              .max_error = o->max_error,
                              .keep_subnormals = o->keep_subnormals};
}

/* With p->building held. */
static hone_status build(ep_partition_state *part, const hone_profile_shape *shapes, int count, hone_engine **out) {
  ep_provider *p = part->provider;
  hone_build_options options;
  hone_graph *graph = NULL;
  const hone_onnx_source source = {.struct_size = sizeof source,
                                   .bytes = part->model.bytes.data,
                                   .count = part->model.bytes.count,
                                   .tensors = part->model.tensors,
                                   .tensor_count = part->model.tensor_count};
  hone_context_clear_messages(p->context);
  hone_status status = hone_graph_load_onnx_source(p->context, &source, &graph);
  if (status != HONE_OK) return status;
  build_options(p, shapes, count, &options);
  ep_log(p->ort, p->logger, ORT_LOG_INFO, "hone: building the engine of %s", part->name);
  status = hone_engine_build(p->context, graph, &p->device, 1, &options, out);
  hone_graph_destroy(graph);
  return status;
}

/* ---- an engine's ports ---- */

static OrtStatus *match_port(const ep_partition_state *part, const hone_port_info *info, const ep_port *port) {
  if (info->type.dtype == port->dtype) return NULL;
  return ep_fail(part->provider->ort, ORT_ERROR_INVALID_GRAPH,
                 "hone: %s: the engine's \"%s\" is %s, where \"%s\" is %s", part->name, info->name,
                 hone_dtype_name(info->type.dtype), port->name, hone_dtype_name(port->dtype));
}

static bool is_known(const hone_shape *shape) {
  for (int d = 0; d < shape->rank; ++d)
    if (shape->dim[d] < 0) return false;
  return shape->rank >= 0;
}

/* Inputs and outputs go by their order: names are the runtime's, and a compiled model may have others. */
static OrtStatus *read_ports(ep_partition_state *part, ep_engine *e) {
  const ort_calls *ort = part->provider->ort;
  const int in = hone_engine_input_count(e->engine), out = hone_engine_output_count(e->engine);
  if (in != part->in_count || out != part->out_count)
    return ep_fail(ort, ORT_ERROR_INVALID_GRAPH,
                   "hone: %s: the engine has %d inputs and %d outputs, the node %d and %d", part->name, in, out,
                   part->in_count, part->out_count);
  e->schedule_count = hone_engine_schedule_count(e->engine);
  e->in = EP_NEW(&part->arena, hone_port_info, e->schedule_count * in);
  e->out = EP_NEW(&part->arena, hone_port_info, out);
  if (!e->in || !e->out) return ep_fail_memory(ort);
  for (int i = 0; i < e->schedule_count * in; ++i) {
    e->in[i].struct_size = sizeof e->in[i];
    if (hone_engine_schedule_input(e->engine, i / in, i % in, &e->in[i]) != HONE_OK)
      return ep_fail(ort, ORT_ERROR_FAIL, "hone: %s: the engine does not tell of input %d", part->name, i % in);
    EP_TRY(match_port(part, &e->in[i], &part->in[i % in]));
  }
  for (int i = 0; i < out; ++i) {
    e->out[i].struct_size = sizeof e->out[i];
    if (hone_engine_output(e->engine, i, &e->out[i]) != HONE_OK)
      return ep_fail(ort, ORT_ERROR_FAIL, "hone: %s: the engine does not tell of output %d", part->name, i);
    EP_TRY(match_port(part, &e->out[i], &part->out[i]));
    if (!is_known(&e->out[i].type.shape)) e->out[i].type.shape.rank = -1;
  }
  return NULL;
}

/* ---- a session ---- */

static OrtStatus *create_slot(ep_partition_state *part, ep_engine *e, ep_slot **out) {
  const ort_calls *ort = part->provider->ort;
  ep_slot *slot = calloc(1, sizeof *slot + (size_t)part->in_count * sizeof(hone_shape));
  if (!slot) return ep_fail_memory(ort);
  slot->shapes = (hone_shape *)(slot + 1);
  for (int i = 0; i < part->in_count; ++i) slot->shapes[i].rank = -1;
  hone_context *context = NULL; /* for its messages: the provider's may be in use */
  hone_status status = hone_context_create(NULL, &context);
  const hone_session_options options = {.struct_size = sizeof options, .instance_cache = PREPARED_SHAPES};
  if (status == HONE_OK)
    status = hone_session_create(e->engine, &options, &slot->session, hone_context_diagnostics(context));
  OrtStatus *failure = NULL;
  if (status != HONE_OK) {
    const char *text = context ? hone_context_message(context, 0, NULL) : NULL;
    failure = ep_fail(ort, ORT_ERROR_FAIL, "hone: %s: %s: %s", part->name, hone_status_name(status), text ? text : "");
    free(slot);
    slot = NULL;
  }
  hone_context_destroy(context);
  *out = slot;
  return failure;
}

OrtStatus *ep_engine_adopt(ep_partition_state *part, hone_engine *engine, ep_engine **out) {
  *out = NULL;
  pthread_mutex_lock(&part->lock);
  ep_engine *e = EP_NEW(&part->arena, ep_engine, 1);
  OrtStatus *status = e ? NULL : ep_fail_memory(part->provider->ort);
  if (e) e->engine = engine;
  if (!status) status = read_ports(part, e);
  if (!status) status = create_slot(part, e, &e->free_slots);
  if (!status) {
    e->next = part->engines;
    part->engines = *out = e;
  }
  pthread_mutex_unlock(&part->lock);
  if (status) hone_engine_release(engine);
  return status;
}

/* From the cache, or built and put there; with p->building held. *out_failure: why hone could not build it. */
static OrtStatus *make(ep_partition_state *part, const hone_profile_shape *shapes, int count, ep_engine **out,
                       hone_status *out_failure) {
  ep_provider *p = part->provider;
  char path[4096];
  *out = NULL;
  *out_failure = HONE_OK;
  EP_TRY(cache_path(part, shapes, count, path, sizeof path));
  hone_engine *engine = load_cached(p, path);
  if (engine) {
    OrtStatus *status = ep_engine_adopt(part, engine, out);
    if (!status) return NULL;
    say_damaged(p, path, p->ort->GetErrorMessage(status));
    p->ort->ReleaseStatus(status);
  }
  *out_failure = build(part, shapes, count, &engine);
  if (*out_failure != HONE_OK) return NULL;
  save_cached(p, engine, path);
  return ep_engine_adopt(part, engine, out);
}

/* ---- the session's engine ---- */

bool ep_profiles_cover(const ep_partition_state *part) {
  for (int i = 0; i < part->in_count; ++i) {
    const ep_port *port = &part->in[i];
    if (!is_known(&port->shape) && !ep_profile_find(&part->provider->options, port->name, 0)) return false;
  }
  return true;
}

/* Of all profiles; each must name every input with free dims. */
static int list_profiles(const ep_partition_state *part, hone_profile_shape *out) {
  const ep_options *o = &part->provider->options;
  int count = 0;
  for (int k = 0; k < HONE_MAX_SCHEDULES; ++k)
    for (int i = 0; i < part->in_count; ++i) {
      const ep_profile *given = is_known(&part->in[i].shape) ? NULL : ep_profile_find(o, part->in[i].name, k);
      if (given)
        out[count++] = (hone_profile_shape){
            .input = part->in[i].name, .min = given->min, .opt = given->opt, .max = given->max, .profile = k};
    }
  return count;
}

OrtStatus *ep_engine_prepare(ep_partition_state *part, ep_engine **out) {
  ep_provider *p = part->provider;
  hone_status failure = HONE_OK;
  hone_profile_shape *shapes = EP_NEW(&part->arena, hone_profile_shape, part->in_count * HONE_MAX_SCHEDULES);
  *out = NULL;
  if (!shapes) return ep_fail_memory(p->ort);
  pthread_mutex_lock(&p->building);
  OrtStatus *status = make(part, shapes, list_profiles(part, shapes), out, &failure);
  if (!status && failure != HONE_OK) status = ep_fail_context(p, failure, part->name);
  pthread_mutex_unlock(&p->building);
  return status;
}

/* ---- engines for shapes that come ---- */

static bool takes(const ep_partition_state *part, const ep_engine *e, const hone_shape *shapes) {
  for (int s = 0; s < e->schedule_count; ++s) {
    bool all = true;
    for (int i = 0; all && i < part->in_count; ++i) {
      const hone_port_info *port = &e->in[s * part->in_count + i];
      all = shapes[i].rank == port->min.rank;
      for (int d = 0; all && d < shapes[i].rank; ++d)
        all = shapes[i].dim[d] >= port->min.dim[d] && shapes[i].dim[d] <= port->max.dim[d];
    }
    if (all) return true;
  }
  return false;
}

static ep_engine *find(ep_partition_state *part, const hone_shape *shapes) {
  pthread_mutex_lock(&part->lock);
  ep_engine *e = part->engines;
  while (e && !takes(part, e, shapes)) e = e->next;
  pthread_mutex_unlock(&part->lock);
  return e;
}

static void add_dims(ep_bytes *text, const hone_shape *shape) {
  ep_bytes_printf(text, "[");
  for (int d = 0; d < shape->rank; ++d) {
    if (d > 0) ep_bytes_printf(text, ",");
    if (shape->dim[d] < 0)
      ep_bytes_printf(text, "?");
    else
      ep_bytes_printf(text, "%lld", (long long)shape->dim[d]);
  }
  ep_bytes_printf(text, "]");
}

static OrtStatus *refuse(const ep_partition_state *part, const hone_shape *shapes) {
  ep_bytes text = {0};
  for (int i = 0; i < part->in_count; ++i) {
    ep_bytes_printf(&text, "%s\"%s\" is ", i > 0 ? ", " : "", part->in[i].name);
    add_dims(&text, &shapes[i]);
    ep_bytes_printf(&text, ", declared ");
    add_dims(&text, &part->in[i].shape);
  }
  ep_bytes_add(&text, "", 1);
  OrtStatus *status = ep_fail(part->provider->ort, ORT_ERROR_INVALID_ARGUMENT,
                              "hone: %s: no engine takes these shapes, and none can be built for them: %s", part->name,
                              text.failed ? "out of memory" : (const char *)text.data);
  free(text.data);
  return status;
}

typedef enum width { WIDE, SEEN, EXACT } width; /* from what came to twice its most and down to 1; what came; this */

static int list_range(const ep_partition_state *part, const hone_shape *shapes, width how, hone_profile_shape *out) {
  int count = 0;
  for (int i = 0; i < part->in_count; ++i) {
    hone_profile_shape *s = &out[count];
    *s = (hone_profile_shape){.input = part->in[i].name, .min = shapes[i], .opt = shapes[i], .max = shapes[i]};
    for (int d = 0; d < shapes[i].rank && how != EXACT; ++d) {
      const int64_t least = part->least[i].dim[d], most = part->most[i].dim[d];
      if (least == most) continue;
      s->min.dim[d] = how == WIDE && least > 1 ? 1 : least;
      s->max.dim[d] = how == WIDE ? most * 2 : most;
    }
    count += !is_known(&part->in[i].shape);
  }
  return count;
}

static void widen(ep_partition_state *part, const hone_shape *shapes) {
  for (int i = 0; i < part->in_count; ++i)
    for (int d = 0; d < shapes[i].rank; ++d) {
      const int64_t dim = shapes[i].dim[d];
      part->least[i].dim[d] = part->builds == 0 || dim < part->least[i].dim[d] ? dim : part->least[i].dim[d];
      part->most[i].dim[d] = part->builds == 0 || dim > part->most[i].dim[d] ? dim : part->most[i].dim[d];
    }
}

/* Only what the ports leave free may differ from them. */
static OrtStatus *check_shapes(const ep_partition_state *part, const hone_shape *shapes) {
  for (int i = 0; i < part->in_count; ++i) {
    const hone_shape *port = &part->in[i].shape;
    bool same = port->rank == shapes[i].rank;
    for (int d = 0; same && d < port->rank; ++d) same = port->dim[d] < 0 || port->dim[d] == shapes[i].dim[d];
    if (!same) return refuse(part, shapes);
  }
  return NULL;
}

/* With p->building held. */
static OrtStatus *build_for(ep_partition_state *part, const hone_shape *shapes, ep_engine **out) {
  ep_provider *p = part->provider;
  hone_status failure = HONE_OK;
  hone_profile_shape *range = calloc((size_t)part->in_count + 1, sizeof *range);
  if (!range) return ep_fail_memory(p->ort);
  widen(part, shapes);
  OrtStatus *status = NULL;
  for (width how = part->builds == 0 ? EXACT : WIDE; how <= EXACT && !*out && !status; ++how)
    status = make(part, range, list_range(part, shapes, how, range), out, &failure);
  if (!status && !*out) status = ep_fail_context(p, failure, part->name);
  part->builds += *out != NULL;
  free(range);
  return status;
}

OrtStatus *ep_engine_find(ep_partition_state *part, const hone_shape *shapes, ep_engine **out) {
  ep_provider *p = part->provider;
  OrtStatus *status = NULL;
  *out = find(part, shapes);
  if (*out) return NULL;
  if (!part->model.bytes.data) return refuse(part, shapes);
  EP_TRY(check_shapes(part, shapes));
  pthread_mutex_lock(&p->building);
  *out = find(part, shapes); /* another thread may have built it meanwhile */
  if (!*out) status = build_for(part, shapes, out);
  pthread_mutex_unlock(&p->building);
  return status;
}

/* ---- taking and giving back ---- */

OrtStatus *ep_slot_take(ep_partition_state *part, ep_engine *engine, ep_slot **out) {
  pthread_mutex_lock(&part->lock);
  *out = engine->free_slots;
  if (*out) engine->free_slots = (*out)->next;
  pthread_mutex_unlock(&part->lock);
  return *out ? NULL : create_slot(part, engine, out);
}

void ep_slot_give(ep_partition_state *part, ep_engine *engine, ep_slot *slot) {
  pthread_mutex_lock(&part->lock);
  slot->next = engine->free_slots;
  engine->free_slots = slot;
  pthread_mutex_unlock(&part->lock);
}

void ep_engines_free(ep_partition_state *part) {
  for (ep_engine *e = part->engines; e; e = e->next) {
    while (e->free_slots) {
      ep_slot *slot = e->free_slots;
      e->free_slots = slot->next;
      hone_session_destroy(slot->session);
      free(slot);
    }
    hone_engine_release(e->engine);
  }
  part->engines = NULL;
}
