/* SPDX-License-Identifier: Apache-2.0 */
/* trt_types.c - trtexec's options about types and formats. Layers of f32 may be asked to compute in and to write f32,
 * f16 and bf16, which the build then sees to; other layers stay in the model's own types. Inputs and outputs in the
 * host's memory are plain: what asks for that is granted, anything else is refused with the reason. With --device-io
 * they lie in a GPU's memory, in the types and formats asked for. */
#include "cli.h"
#include <string.h>

/* trtexec's names; ours are taken, too. */
static hone_dtype read_dtype(const char *text, size_t length) {
  static const struct {
    const char *name;
    hone_dtype dtype;
  } rows[] = {{"fp32", HONE_F32},   {"fp16", HONE_F16},  {"bf16", HONE_BF16},    {"fp64", HONE_F64},
              {"int8", HONE_I8},    {"int16", HONE_I16}, {"int32", HONE_I32},    {"int64", HONE_I64},
              {"uint8", HONE_U8},   {"bool", HONE_BOOL}, {"fp8", HONE_F8E4M3FN}, {"int4", HONE_I4},
              {"fp4", HONE_F4E2M1}, {"tf32", HONE_TF32}};
  char name[32];
  if (length >= sizeof name) return HONE_NONE;
  memcpy(name, text, length);
  name[length] = 0;
  for (size_t i = 0; i < CLI_COUNT(rows); ++i)
    if (strcmp(rows[i].name, name) == 0) return rows[i].dtype;
  return hone_dtype_find(name);
}

/* ---- layers ---- */

enum { MOST_SPECS = 64 };
/* NODE:TYPE[+TYPE], one `*` in NODE at most. The texts are the command line's. */
typedef struct spec {
  const char *node, *type, *end;
  size_t node_length;
  bool used;
} spec;

typedef struct layer_check {
  cli_tool *cli;
  const char *option;
  bool outputs; /* the types that layers write, not those that they compute in */
  bool wish;
  spec specs[MOST_SPECS];
  int count, code;
  const char *near[MOST_SPECS]; /* the node nearest to each name */
} layer_check;

static bool names_node(const spec *s, const char *name) {
  const char *star = memchr(s->node, '*', s->node_length);
  const size_t length = strlen(name), before = star ? (size_t)(star - s->node) : s->node_length;
  if (!star) return length == before && memcmp(name, s->node, before) == 0;
  const size_t after = s->node_length - before - 1;
  return length >= before + after && memcmp(name, s->node, before) == 0 &&
         memcmp(name + length - after, star + 1, after) == 0;
}

static hone_dtype dtype_of(const hone_value *value) {
  hone_type type = {0};
  if (value) hone_value_type(value, &type);
  return type.dtype;
}

static bool is_float(hone_dtype dtype) {
  return dtype != HONE_NONE && (HONE_BIT(dtype) & (HONE_TYPES_FLOAT | HONE_TYPES_NARROW));
}

/* The first float among what it reads and writes, else the type of its first output. */
static hone_dtype computes_in(const hone_node_info *node) {
  for (int i = 0; i < node->in_count; ++i)
    if (is_float(dtype_of(node->in[i]))) return dtype_of(node->in[i]);
  for (int i = 0; i < node->out_count; ++i)
    if (is_float(dtype_of(node->out[i]))) return dtype_of(node->out[i]);
  return node->out_count ? dtype_of(node->out[0]) : HONE_NONE;
}

/* Wanted is not what is: a wish is told, a condition fails. */
static void refuse(layer_check *check, const hone_node_info *node, hone_dtype is, const char *wanted, size_t length) {
  const char *does = check->outputs ? "writes" : "computes in";
  if (check->wish) {
    cli_note(check->cli, "warning: --%s: layer %s (%s) %s %s, not in %.*s as was preferred", check->option, node->name,
             node->op, does, hone_dtype_name(is), (int)length, wanted);
    return;
  }
  cli_error("--%s: layer %s (%s) %s %s; that it could be %.*s is not supported yet: only f32 may become fp16 or bf16",
            check->option, node->name, node->op, does, hone_dtype_name(is), (int)length, wanted);
  check->code = CLI_EXIT_UNSUPPORTED;
}

static void check_layer(layer_check *check, const spec *s, const hone_node_info *node) {
  const bool any = memchr(s->node, '*', s->node_length) != NULL; /* floats are meant, not what counts and indexes */
  const char *at = s->type;
  for (int i = 0; at < s->end; ++i) {
    size_t length = 0;
    while (at + length < s->end && at[length] != '+') ++length;
    if (check->outputs && i >= node->out_count) {
      check->code = cli_usage_error(check->cli, "--%s: layer %s (%s) has %d output%s", check->option, node->name,
                                    node->op, node->out_count, node->out_count == 1 ? "" : "s");
      return;
    }
    const hone_dtype is = check->outputs ? dtype_of(node->out[i]) : computes_in(node);
    const hone_dtype wanted = read_dtype(at, length);
    const bool arithmetic = wanted == HONE_TF32 && !check->outputs;
    const bool builds = is == HONE_F32 && (wanted == HONE_F16 || wanted == HONE_BF16 || arithmetic);
    const bool passes = builds || (any && (arithmetic || is_float(wanted)) && !is_float(is));
    if (is != HONE_NONE && is != wanted && !passes) refuse(check, node, is, at, length);
    at += length + 1;
  }
}

static void see_layer(void *user, const hone_node_info *node) {
  layer_check *check = user;
  const spec *last = NULL;
  for (int i = 0; i < check->count; ++i) {
    spec *s = &check->specs[i];
    char name[256];
    (void)snprintf(name, sizeof name, "%.*s", (int)s->node_length, s->node);
    check->near[i] = hone_nearest_name(name, check->near[i], node->name);
    if (!names_node(s, node->name)) continue;
    s->used = true;
    last = s; /* later ones override earlier ones */
  }
  if (last) check_layer(check, last, node);
}

static int read_specs(layer_check *check) {
  const char *texts[MOST_SPECS];
  const int given = cli_list(check->cli, check->option, texts, MOST_SPECS);
  for (int i = 0; i < given; ++i)
    for (const char *at = texts[i]; at;) {
      const char *end = at + strcspn(at, ","), *colon = end;
      while (colon > at && *colon != ':') --colon;
      if (colon == at || colon + 1 == end)
        return cli_usage_error(check->cli, "--%s expects NODE:TYPE, not \"%.*s\"", check->option, (int)(end - at), at);
      if (check->count == MOST_SPECS) return cli_usage_error(check->cli, "--%s: too many layers", check->option);
      for (const char *type = colon + 1; type < end;) {
        const size_t length = strcspn(type, "+,");
        if (read_dtype(type, length) == HONE_NONE)
          return cli_usage_error(check->cli,
                                 "--%s: there is no type %.*s; types: fp32, fp16, bf16, tf32, int32, int64, int8",
                                 check->option, (int)length, type);
        type += length + 1;
      }
      check->specs[check->count++] = (spec){at, colon + 1, end, (size_t)(colon - at), false};
      at = *end ? end + 1 : NULL;
    }
  return CLI_EXIT_OK;
}

static int check_layers(cli_tool *cli, const hone_graph *graph, const char *option, bool outputs, bool wish) {
  static layer_check check; /* large for a stack */
  check = (layer_check){.cli = cli, .option = option, .outputs = outputs, .wish = wish};
  const int code = read_specs(&check);
  if (code != CLI_EXIT_OK) return code;
  hone_graph_visit_nodes(graph, see_layer, &check);
  for (int i = 0; i < check.count; ++i)
    if (!check.specs[i].used)
      return cli_usage_error(cli, "--%s: the model has no layer %.*s%s%s", option, (int)check.specs[i].node_length,
                             check.specs[i].node, check.near[i] ? "; did you mean " : "",
                             check.near[i] ? check.near[i] : "");
  return check.code;
}

/* none, prefer or obey (the default). */
static int read_constraints(cli_tool *cli, bool *out_asks, bool *out_wish) {
  const char *constraints = cli_text(cli, "precisionConstraints");
  *out_asks = cli_has(cli, "layerPrecisions") || cli_has(cli, "layerOutputTypes");
  *out_wish = constraints && strcmp(constraints, "prefer") == 0;
  if (constraints && strcmp(constraints, "none") == 0) *out_asks = false;
  if (!constraints || *out_wish || strcmp(constraints, "none") == 0 || strcmp(constraints, "obey") == 0)
    return CLI_EXIT_OK;
  return cli_usage_error(cli, "--precisionConstraints expects none, prefer or obey, not %s", constraints);
}

static int check_precisions(cli_tool *cli, const hone_graph *graph) {
  bool asks, wish;
  int code = read_constraints(cli, &asks, &wish);
  if (code != CLI_EXIT_OK) return code;
  const char *constraints = cli_text(cli, "precisionConstraints");
  const bool given = cli_has(cli, "layerPrecisions") || cli_has(cli, "layerOutputTypes");
  if (constraints && !given)
    cli_note(cli, "--precisionConstraints=%s constrains nothing without --layerPrecisions or --layerOutputTypes",
             constraints);
  if (given && !asks)
    cli_note(cli, "warning: --precisionConstraints=none: --layerPrecisions and --layerOutputTypes ask for nothing");
  if (!asks) return CLI_EXIT_OK;
  code = check_layers(cli, graph, "layerPrecisions", false, wish);
  return code == CLI_EXIT_OK ? check_layers(cli, graph, "layerOutputTypes", true, wish) : code;
}

static bool is_half_or_f32(hone_dtype dtype) { return dtype == HONE_F32 || dtype == HONE_F16 || dtype == HONE_BF16; }

static int add_layer_types(cli_tool *cli, const char *option, bool outputs, bool wish, cli_layer_types *out) {
  static layer_check read; /* large for a stack */
  read = (layer_check){.cli = cli, .option = option};
  const int code = read_specs(&read);
  if (code != CLI_EXIT_OK) return code;
  for (int i = 0; i < read.count; ++i) {
    const spec *s = &read.specs[i];
    const size_t length = (size_t)(s->end - s->type), first = strcspn(s->type, "+,");
    const hone_dtype dtype = read_dtype(s->type, first < length ? first : length);
    if (!is_half_or_f32(dtype)) continue; /* the layer's own: it was checked */
    for (const char *at = s->type + first; at < s->end; at += 1 + strcspn(at + 1, "+,"))
      if (read_dtype(at + 1, strcspn(at + 1, "+,")) != dtype)
        return cli_usage_error(cli, "--%s: the outputs of layer %.*s get one type; not %.*s", option,
                               (int)s->node_length, s->node, (int)length, s->type);
    if (out->count == CLI_MAX_LAYER_TYPES || out->used + s->node_length + 1 > sizeof out->names)
      return cli_usage_error(cli, "--%s: too many layers", option);
    char *name = memcpy(out->names + out->used, s->node, s->node_length);
    name[s->node_length] = 0;
    out->used += s->node_length + 1;
    out->items[out->count++] = (hone_layer_type){
        .node = name, .compute = outputs ? HONE_NONE : dtype, .output = outputs ? dtype : HONE_NONE, .preferred = wish};
  }
  return CLI_EXIT_OK;
}

int cli_read_layer_types(cli_tool *cli, cli_layer_types *out) {
  bool asks = false, wish = false;
  out->count = 0;
  out->used = 0;
  if (!cli_takes(cli->command, "layerPrecisions")) return CLI_EXIT_OK;
  int code = read_constraints(cli, &asks, &wish);
  if (code == CLI_EXIT_OK && asks) code = add_layer_types(cli, "layerPrecisions", false, wish, out);
  if (code == CLI_EXIT_OK && asks) code = add_layer_types(cli, "layerOutputTypes", true, wish, out);
  return code;
}

/* ---- inputs and outputs ---- */

/* TYPE:FORMAT[+FORMAT]: any of the formats will do. */
static int check_port(cli_tool *cli, const char *option, const char *name, hone_dtype is, const char *text,
                      size_t length) {
  const char *colon = memchr(text, ':', length);
  if (!colon)
    return cli_usage_error(cli, "--%s expects TYPE:FORMAT, as fp32:chw, not \"%.*s\"", option, (int)length, text);
  const hone_dtype wanted = read_dtype(text, (size_t)(colon - text));
  if (wanted == HONE_NONE)
    return cli_usage_error(cli, "--%s: there is no type %.*s", option, (int)(colon - text), text);
  bool plain = false;
  for (const char *at = colon + 1; at < text + length;) {
    const size_t part = strcspn(at, "+,");
    plain = plain || (part == 3 && strncmp(at, "chw", 3) == 0);
    at += part + 1;
  }
  if (wanted == is && plain) return CLI_EXIT_OK;
  if (wanted != is)
    cli_error("--%s: %s is %s in the model; %.*s is not supported yet in the host's memory, with --device-io it is",
              option, name, hone_dtype_name(is), (int)(colon - text), text);
  else
    cli_error(
        "--%s: %s is plain (chw) in the host's memory; the format %.*s is not supported yet there, with --device-io "
        "it is",
        option, name, (int)(text + length - colon - 1), colon + 1);
  return CLI_EXIT_UNSUPPORTED;
}

/* The part of the option that counts for a port: of all, or in order. */
static const char *part_of(const char *text, int number, size_t *out_length) {
  if (!strchr(text, ',')) number = 0;
  while (number-- > 0) text += strcspn(text, ",") + 1;
  *out_length = strcspn(text, ",");
  return text;
}

static int check_count(cli_tool *cli, const char *option, const char *text, int count) {
  int parts = 1;
  for (const char *c = text; *c; ++c) parts += *c == ',';
  if (parts == 1 || parts == count) return CLI_EXIT_OK;
  return cli_usage_error(cli, "--%s has %d formats; the model has %d, or give one for all", option, parts, count);
}

typedef struct ports {
  const char *names[CLI_MAX_INPUTS];
  hone_dtype types[CLI_MAX_INPUTS];
  int count;
} ports;

static void list_ports(const cli_model *model, bool inputs, ports *out) {
  const hone_graph *graph = model->graph;
  out->count = graph ? (inputs ? hone_graph_input_count(graph) : hone_graph_output_count(graph))
                     : (inputs ? hone_engine_input_count(model->engine) : hone_engine_output_count(model->engine));
  if (out->count > CLI_MAX_INPUTS) out->count = CLI_MAX_INPUTS;
  for (int i = 0; i < out->count; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    if (graph) {
      const hone_value *value = inputs ? hone_graph_input(graph, i) : hone_graph_output(graph, i);
      out->names[i] = inputs ? hone_value_name(value) : hone_graph_output_name(graph, i);
      out->types[i] = dtype_of(value);
    } else if ((inputs ? hone_engine_input(model->engine, i, &port) : hone_engine_output(model->engine, i, &port)) ==
               HONE_OK) {
      out->names[i] = port.name;
      out->types[i] = port.type.dtype;
    }
  }
}

static int check_formats(cli_tool *cli, const cli_model *model, const char *option, bool inputs) {
  const char *text = cli_text(cli, option);
  ports list;
  if (!text) return CLI_EXIT_OK;
  list_ports(model, inputs, &list);
  int code = check_count(cli, option, text, list.count);
  for (int i = 0; i < list.count && code == CLI_EXIT_OK; ++i) {
    size_t length;
    const char *part = part_of(text, i, &length);
    code = check_port(cli, option, list.names[i], list.types[i], part, length);
  }
  return code;
}

/* TYPE:FORMAT of a port on a device. */
static int read_device_port(cli_tool *cli, const char *option, const char *text, size_t length, hone_dtype is,
                            hone_port_format *out) {
  const char *colon = memchr(text, ':', length);
  const size_t type_length = colon ? (size_t)(colon - text) : 0, format_length = colon ? length - type_length - 1 : 0;
  const hone_dtype dtype = read_dtype(text, type_length);
  const bool is_hwc8 = colon && format_length == 4 && strncmp(colon + 1, "hwc8", 4) == 0;
  if (!colon || (!is_hwc8 && !(format_length == 3 && strncmp(colon + 1, "chw", 3) == 0)))
    return cli_usage_error(cli, "--%s with --device-io expects TYPE:chw or TYPE:hwc8, as fp16:hwc8, not \"%.*s\"",
                           option, (int)length, text);
  if (dtype == HONE_NONE) return cli_usage_error(cli, "--%s: there is no type %.*s", option, (int)type_length, text);
  if (dtype != is && (is != HONE_F32 || (dtype != HONE_F16 && dtype != HONE_BF16)))
    return cli_usage_error(cli, "--%s: %s is %s in the model, and cannot be held as %.*s", option, out->name,
                           hone_dtype_name(is), (int)type_length, text);
  out->dtype = dtype == is ? HONE_NONE : dtype;
  out->format = is_hwc8 ? HONE_NHWC : HONE_PLAIN;
  return CLI_EXIT_OK;
}

static int add_port_formats(cli_tool *cli, const cli_model *model, const char *option, bool inputs,
                            cli_port_formats *out) {
  const char *text = cli_text(cli, option);
  ports list;
  list_ports(model, inputs, &list);
  int code = text ? check_count(cli, option, text, list.count) : CLI_EXIT_OK;
  for (int i = 0; i < list.count && code == CLI_EXIT_OK; ++i) {
    hone_port_format *port = &out->items[out->count++];
    *port = (hone_port_format){.name = list.names[i], .on_device = true};
    size_t length = 0;
    const char *part = text ? part_of(text, i, &length) : NULL;
    if (part) code = read_device_port(cli, option, part, length, list.types[i], port);
  }
  return code;
}

int cli_read_port_formats(cli_tool *cli, const cli_model *model, cli_port_formats *out) {
  out->count = 0;
  if (!cli_has(cli, "device-io")) return CLI_EXIT_OK;
  const bool has = cli_takes(cli->command, "inputIOFormats");
  if (!has) { /* all ports as the model has them */
    out->items[out->count++] = (hone_port_format){.on_device = true};
    return CLI_EXIT_OK;
  }
  const int code = add_port_formats(cli, model, "inputIOFormats", true, out);
  return code == CLI_EXIT_OK ? add_port_formats(cli, model, "outputIOFormats", false, out) : code;
}

int cli_check_types(cli_tool *cli, const cli_model *model) {
  if (!cli_takes(cli->command, "inputIOFormats")) return CLI_EXIT_OK;
  if (cli_has(cli, "noTF32") && cli_has(cli, "tf32"))
    return cli_usage_error(cli, "--tf32 allows what --noTF32 forbids");
  if (cli_has(cli, "noTF32") && !cli_has(cli, "best"))
    cli_note(cli, "--noTF32: f32 is computed in f32 unless --tf32 is given");
  const bool on_device = cli_has(cli, "device-io"); /* the build sees to them */
  int code = on_device ? CLI_EXIT_OK : check_formats(cli, model, "inputIOFormats", true);
  if (!on_device && code == CLI_EXIT_OK) code = check_formats(cli, model, "outputIOFormats", false);
  return code == CLI_EXIT_OK && model->graph ? check_precisions(cli, model->graph) : code;
}
