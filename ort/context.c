/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - compiled models: each partition as a node com.microsoft::EPContext that holds its engine, or the name of
 * a file beside the model. Attributes as ONNX Runtime's design of EPContext has them. */
#include "ep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- attributes of a node ---- */

/* The attribute's bytes, with a zero behind them; NULL with OK: the node has none of that name and type. */
static OrtStatus *read_attribute(const ort_calls *ort, const OrtNode *node, const char *name, int type, ep_arena *arena,
                                 char **out, size_t *out_bytes) {
  size_t count = 0;
  *out = NULL;
  *out_bytes = 0;
  EP_TRY(ort->Node_GetNumAttributes(node, &count));
  const OrtOpAttr **attributes = EP_NEW(arena, const OrtOpAttr *, count);
  if (!attributes) return ep_fail_memory(ort);
  EP_TRY(ort->Node_GetAttributes(node, attributes, count));
  for (size_t i = 0; i < count; ++i) {
    const char *found = NULL;
    int found_type = 0;
    size_t bytes = 0;
    if (!attributes[i]) continue;
    EP_TRY(ort->OpAttr_GetName(attributes[i], &found));
    EP_TRY(ort->OpAttr_GetType(attributes[i], &found_type));
    if (!found || strcmp(found, name) != 0 || found_type != type) continue;
    OrtStatus *probe = ort->ReadOpAttr(attributes[i], type, NULL, 0, &bytes);
    if (probe) ort->ReleaseStatus(probe); /* it tells the size */
    *out = ep_alloc(arena, bytes + 8, 1); /* an integer is written whole, whatever room is said */
    if (!*out) return ep_fail_memory(ort);
    return ort->ReadOpAttr(attributes[i], type, *out, bytes, out_bytes);
  }
  return NULL;
}

bool ep_is_context_node(const ort_calls *ort, const ep_node *node) {
  ep_arena arena = {0};
  char *source = NULL;
  size_t bytes = 0;
  if (strcmp(node->op, EP_CONTEXT_OP) != 0 || strcmp(node->domain, EP_CONTEXT_DOMAIN) != 0) return false;
  OrtStatus *status = read_attribute(ort, node->node, "source", ORT_ATTR_STRING, &arena, &source, &bytes);
  if (status) ort->ReleaseStatus(status);
  const bool is_ours = !status && source && strcmp(source, EP_NAME) == 0;
  ep_arena_free(&arena);
  return is_ours;
}

/* ---- loading ---- */

/* A file beside the model, and nowhere else: the name comes from the model. */
static OrtStatus *path_beside(const ep_partition_state *part, const ep_graph *graph, const char *name, char *out,
                              size_t room) {
  const ort_calls *ort = part->provider->ort;
  const char *model = NULL;
  if (!*name || *name == '/' || strstr(name, ".."))
    return ep_fail(ort, ORT_ERROR_INVALID_GRAPH, "hone: %s: the engine's file \"%s\" is not beside the model",
                   part->name, name);
  EP_TRY(ort->Graph_GetModelPath(graph->graph, &model));
  if (!model || !*model) model = part->provider->options.context_path;
  if (!model || !*model)
    return ep_fail(
        ort, ORT_ERROR_INVALID_GRAPH,
        "hone: %s: the engine is in the file \"%s\", but the model was given without a path; ep.context_file_path "
        "can say where it is",
        part->name, name);
  const char *last = strrchr(model, '/');
  const int folder = last ? (int)(last - model) + 1 : 0;
  if (snprintf(out, room, "%.*s%s", folder, model, name) >= (int)room)
    return ep_fail(ort, ORT_ERROR_INVALID_GRAPH, "hone: %s: the path of the engine's file is too long", part->name);
  return NULL;
}

static OrtStatus *load(ep_partition_state *part, const ep_graph *graph, const char *content, size_t bytes,
                       bool embedded, hone_engine **out) {
  ep_provider *p = part->provider;
  char path[4096];
  hone_status status;
  if (!embedded) EP_TRY(path_beside(part, graph, content, path, sizeof path));
  pthread_mutex_lock(&p->building);
  hone_context_clear_messages(p->context);
  status = embedded ? hone_engine_load_memory(p->context, content, bytes, &p->device, 1, out)
                    : hone_engine_load(p->context, path, &p->device, 1, out);
  OrtStatus *failure = status == HONE_OK ? NULL : ep_fail_context(p, status, part->name);
  pthread_mutex_unlock(&p->building);
  return failure;
}

OrtStatus *ep_context_load(ep_partition_state *part, const ep_graph *graph) {
  const ort_calls *ort = part->provider->ort;
  const OrtNode *node = graph->nodes[0].node;
  ep_arena arena = {0};
  char *content = NULL, *mode = NULL;
  size_t content_bytes = 0, mode_bytes = 0;
  int64_t embedded = 1;
  hone_engine *engine = NULL;
  ep_engine *adopted = NULL;
  OrtStatus *status = read_attribute(ort, node, "ep_cache_context", ORT_ATTR_STRING, &arena, &content, &content_bytes);
  if (!status) status = read_attribute(ort, node, "embed_mode", ORT_ATTR_INT, &arena, &mode, &mode_bytes);
  if (!status && mode_bytes == sizeof embedded) memcpy(&embedded, mode, sizeof embedded);
  if (!status && (!content || content_bytes < 1))
    status = ep_fail(ort, ORT_ERROR_INVALID_GRAPH, "hone: %s: the node has no ep_cache_context", part->name);
  if (!status) status = load(part, graph, content, content_bytes, embedded != 0, &engine);
  ep_arena_free(&arena);
  return status ? status : ep_engine_adopt(part, engine, &adopted);
}

/* ---- writing ---- */

static bool add_piece(void *user, const char *text, size_t length) {
  ep_bytes *bytes = user;
  ep_bytes_add(bytes, text, length);
  return !bytes->failed;
}

/* Beside the compiled model, under its name and the partition's. */
static OrtStatus *save_beside(ep_partition_state *part, const hone_engine *engine, ep_bytes *out_name) {
  ep_provider *p = part->provider;
  const char *model = p->options.context_path;
  char path[4096];
  if (!*model)
    return ep_fail(p->ort, ORT_ERROR_INVALID_ARGUMENT,
                   "hone: ep.context_embed_mode 0 needs ep.context_file_path, to know where engines go");
  const char *last = strrchr(model, '/');
  const int folder = last ? (int)(last - model) + 1 : 0;
  ep_bytes_printf(out_name, "%s_%s.hone", model + folder, part->name);
  ep_bytes_add(out_name, "", 1);
  if (out_name->failed) return ep_fail_memory(p->ort);
  for (char *at = (char *)out_name->data; *at; ++at)
    if (*at == '/') *at = '_';
  if (snprintf(path, sizeof path, "%.*s%s", folder, model, (const char *)out_name->data) >= (int)sizeof path)
    return ep_fail(p->ort, ORT_ERROR_INVALID_ARGUMENT, "hone: the path of the engine's file is too long");
  pthread_mutex_lock(&p->building);
  hone_context_clear_messages(p->context);
  const hone_status status = hone_engine_save(engine, path, hone_context_diagnostics(p->context));
  OrtStatus *failure = status == HONE_OK ? NULL : ep_fail_context(p, status, part->name);
  pthread_mutex_unlock(&p->building);
  out_name->count -= 1; /* the zero */
  return failure;
}

static OrtStatus *embed(ep_partition_state *part, const hone_engine *engine, ep_bytes *out) {
  ep_provider *p = part->provider;
  pthread_mutex_lock(&p->building);
  hone_context_clear_messages(p->context);
  const hone_status status = hone_engine_write(engine, add_piece, out, hone_context_diagnostics(p->context));
  OrtStatus *failure = status == HONE_OK ? NULL : ep_fail_context(p, status, part->name);
  pthread_mutex_unlock(&p->building);
  if (!failure && out->count > INT32_MAX)
    failure = ep_fail(p->ort, ORT_ERROR_INVALID_ARGUMENT,
                      "hone: %s: an engine of %zu bytes cannot be embedded; use ep.context_embed_mode 0", part->name,
                      out->count);
  return failure;
}

typedef struct new_attribute {
  const char *name;
  int type;
  const void *data;
  size_t count;
} new_attribute;

static OrtStatus *create_node(const ep_partition_state *part, const new_attribute *attributes, size_t count,
                              OrtNode **out) {
  const ort_calls *ort = part->provider->ort;
  OrtOpAttr *made[16] = {0};
  size_t done = 0;
  OrtStatus *status = NULL;
  const char **in = calloc((size_t)(part->in_count + part->out_count) + 1, sizeof *in);
  if (!in) return ep_fail_memory(ort);
  const char **out_names = in + part->in_count;
  for (int i = 0; i < part->in_count; ++i) in[i] = part->in[i].name;
  for (int i = 0; i < part->out_count; ++i) out_names[i] = part->out[i].name;
  for (; done < count && !status; ++done)
    status = ort->CreateOpAttr(attributes[done].name, attributes[done].data, (int)attributes[done].count,
                               attributes[done].type, &made[done]);
  char name[512];
  (void)snprintf(name, sizeof name, "%s%s", part->provider->options.context_prefix, part->name);
  if (!status)
    status = ort->CreateNode(EP_CONTEXT_OP, EP_CONTEXT_DOMAIN, name, in, (size_t)part->in_count, out_names,
                             (size_t)part->out_count, made, count, out);
  for (size_t i = 0; status && i < count; ++i) /* else they are the node's */
    if (made[i]) ort->ReleaseOpAttr(made[i]);
  free(in);
  return status;
}

OrtStatus *ep_context_write(ep_partition_state *part, const ep_engine *engine, OrtNode **out) {
  const ep_provider *p = part->provider;
  const int64_t main_context = 1, embedded = p->options.context_embed;
  ep_bytes content = {0};
  *out = NULL;
  if (!p->ort->CreateNode)
    return ep_fail(p->ort, ORT_ERROR_NOT_IMPLEMENTED, "hone: this build of ONNX Runtime cannot write compiled models");
  OrtStatus *status = embedded ? embed(part, engine->engine, &content) : save_beside(part, engine->engine, &content);
  const new_attribute attributes[] = {
      {"main_context", ORT_ATTR_INT, &main_context, 1},
      {"embed_mode", ORT_ATTR_INT, &embedded, 1},
      {"ep_cache_context", ORT_ATTR_STRING, content.data, content.count},
      {"ep_sdk_version", ORT_ATTR_STRING, hone_version(), strlen(hone_version())},
      {"hardware_architecture", ORT_ATTR_STRING, p->isa, strlen(p->isa)},
      {"partition_name", ORT_ATTR_STRING, part->name, strlen(part->name)},
      {"source", ORT_ATTR_STRING, EP_NAME, strlen(EP_NAME)},
  };
  if (!status) status = create_node(part, attributes, sizeof attributes / sizeof attributes[0], out);
  free(content.data);
  return status;
}
