/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_case.c - see there. */
#include "support/gpu_case.h"

float gpu_number(gpu_bed *bed) { /* SplitMix64 (Steele, Lea, Flood 2014) */
  uint64_t z = (bed->seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (float)((double)(z >> 11) / (double)((uint64_t)1 << 52) - 1);
}

void gpu_check(const gpu_bed *bed, hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_context_message_count(bed->context); ++i)
    print_error("%s\n", hone_context_message(bed->context, i, NULL));
  fail_msg("%s", hone_status_name(status));
}

void gpu_check_session(const hone_session *session, hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_session_message_count(session); ++i)
    print_error("%s\n", hone_session_message(session, i, NULL));
  fail_msg("%s", hone_status_name(status));
}

hone_shape gpu_shape(const char *text) {
  hone_shape shape = {0};
  while (*text) {
    char *end;
    shape.dim[shape.rank++] = strtoll(text, &end, 10);
    text = *end ? end + 1 : end;
  }
  return shape;
}

void gpu_fill(gpu_bed *bed, hone_tensor *t) {
  for (int64_t i = 0; i < hone_tensor_count(t); ++i)
    if (t->type.dtype == HONE_F32 || t->type.dtype == HONE_F8E4M3FN)
      hone_tensor_set_real(t, i, (double)gpu_number(bed) * (t->type.dtype == HONE_F32 ? 1 : 440));
    else if (t->type.dtype == HONE_U8 || t->type.dtype == HONE_I8)
      hone_tensor_set_real(t, i, floor((double)(gpu_number(bed) + 1) * 128) - (t->type.dtype == HONE_I8 ? 128 : 0));
    else
      hone_tensor_set_real(
          t, i, t->type.dtype == HONE_BOOL ? gpu_number(bed) > 0 : (double)(int)((gpu_number(bed) + 1) * 2) - 1);
}

int64_t gpu_run(gpu_bed *bed, hone_engine *engine, bool replay, double *out, int64_t *out_replayed,
                int *out_host_calls) {
  hone_session *session;
  const hone_session_options options = {.struct_size = sizeof options, .no_replay = !replay};
  hone_port_info port = HONE_SIZED(hone_port_info);
  gpu_check(bed, hone_session_create(engine, &options, &session, hone_context_diagnostics(bed->context)));
  bed->seed = 42;
  for (int i = 0; i < hone_engine_input_count(engine); ++i) {
    hone_tensor t;
    gpu_check(bed, hone_engine_input(engine, i, &port));
    gpu_check_session(session, hone_session_tensor(session, port.name, &t));
    gpu_fill(bed, &t);
  }
  for (int again = 0; again < 3; ++again) gpu_check_session(session, hone_session_run(session));
  int64_t count = 0;
  for (int o = 0; o < hone_engine_output_count(engine); ++o) {
    hone_tensor y;
    gpu_check(bed, hone_engine_output(engine, o, &port));
    gpu_check_session(session, hone_session_tensor(session, port.name, &y));
    assert_true(count + hone_tensor_count(&y) <= GPU_CASE_MAX_OUT);
    for (int64_t i = 0; i < hone_tensor_count(&y); ++i) out[count++] = hone_tensor_real(&y, i);
  }
  hone_session_stats stats = HONE_SIZED(hone_session_stats);
  hone_session_get_stats(session, &stats);
  if (out_replayed) *out_replayed = stats.replayed_steps;
  hone_session_set_profile(session, true);
  gpu_check_session(session, hone_session_run(session));
  int host = 0;
  for (int s = 0; s < hone_session_step_count(session); ++s) {
    hone_step_profile step = HONE_SIZED(hone_step_profile);
    if (hone_session_step(session, s, &step) == HONE_OK && step.provider && strcmp(step.provider, "cuda") != 0) ++host;
  }
  if (out_host_calls) *out_host_calls = host;
  hone_session_destroy(session);
  return count;
}

double gpu_distance(const double *got, const double *want, int64_t count) {
  double difference = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (isnan(got[i]) && isnan(want[i])) continue;
    if (got[i] != want[i]) difference += (got[i] - want[i]) * (got[i] - want[i]);
    if (isfinite(want[i]) || got[i] != want[i]) sum += want[i] * want[i]; /* equal ones count, too */
  }
  return difference == 0 ? 0 : sqrt(difference / (sum > 0 ? sum : 1));
}

static hone_value *constant_of(gpu_bed *bed, hone_graph *graph, const char *name, const hone_type *type,
                               const int64_t *values) {
  hone_tensor tensor;
  hone_value *value;
  gpu_check(bed, hone_tensor_alloc(bed->context, type, &tensor));
  gpu_fill(bed, &tensor);
  for (int64_t i = 0; values && i < hone_tensor_count(&tensor); ++i)
    hone_tensor_set_real(&tensor, i, (double)values[i]);
  gpu_check(bed, hone_graph_add_constant(graph, name, &tensor, &value));
  hone_tensor_free(bed->context, &tensor);
  return value;
}

static hone_value *list_of(gpu_bed *bed, hone_graph *graph, const char *name, const char *text) { /* "2,-1" */
  int64_t values[8];
  hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_I64, .shape = {.rank = 1}};
  for (char *end; *text; text = *end ? end + 1 : end) values[type.shape.dim[0]++] = strtoll(text, &end, 10);
  return constant_of(bed, graph, name, &type, values);
}

/* Of "f=0.02": one f32; u=, s= and e= one byte. Of "F:24": positive f32 to 0.01; "B:24": i32 to 9000. */
static hone_value *numbers_of(gpu_bed *bed, hone_graph *graph, const char *name, const char *text) {
  const char kind = text[0];
  hone_type type = {.kind = HONE_TENSOR,
                    .dtype = kind == 'u'   ? HONE_U8
                             : kind == 's' ? HONE_I8
                             : kind == 'e' ? HONE_F8E4M3FN
                             : kind == 'B' ? HONE_I32
                                           : HONE_F32,
                    .shape = {.rank = 1, .dim = {1}}};
  const bool is_one = text[1] == '=';
  if (!is_one) type.shape = gpu_shape(text + 2);
  hone_tensor tensor;
  hone_value *value;
  gpu_check(bed, hone_tensor_alloc(bed->context, &type, &tensor));
  for (int64_t i = 0; i < hone_tensor_count(&tensor); ++i) {
    const double drawn = (double)gpu_number(bed);
    hone_tensor_set_real(&tensor, i,
                         is_one        ? strtod(text + 2, NULL)
                         : kind == 'B' ? drawn * 9000
                                       : drawn * 0.005 + 0.0051);
  }
  gpu_check(bed, hone_graph_add_constant(graph, name, &tensor, &value));
  hone_tensor_free(bed->context, &tensor);
  return value;
}

static hone_value *input_of(gpu_bed *bed, hone_graph *graph, const char *name, const char *text) {
  const char kind = text[1] == ':' ? text[0] : ' ';
  if (kind == 'l') return list_of(bed, graph, name, text + 2);
  if (text[1] == '=' || kind == 'F' || kind == 'B') return numbers_of(bed, graph, name, text);
  hone_type type = {.kind = HONE_TENSOR,
                    .dtype = kind == 'b'                  ? HONE_BOOL
                             : kind == 'i'                ? HONE_I64
                             : kind == 'u' || kind == 'U' ? HONE_U8
                             : kind == 's' || kind == 'S' ? HONE_I8
                             : kind == 'e'                ? HONE_F8E4M3FN
                                                          : HONE_F32,
                    .shape = gpu_shape(kind == ' ' ? text : text + 2)};
  if (kind == 'c' || kind == 'U' || kind == 'S') return constant_of(bed, graph, name, &type, NULL);
  hone_value *value;
  gpu_check(bed, hone_graph_add_input(graph, name, type.dtype, type.shape.rank, type.shape.dim, NULL, &value));
  return value;
}

hone_graph *gpu_graph(gpu_bed *bed, const op_case *c) {
  hone_graph *graph;
  hone_value *in[GPU_CASE_INPUTS] = {0}, *out[3];
  int count = 0, attrs = 0;
  const int outputs = strcmp(c->op, "split") == 0 ? 3 : 1;
  bed->seed = 7;
  gpu_check(bed, hone_graph_create(bed->context, c->op, &graph));
  for (; count < GPU_CASE_INPUTS && c->in[count]; ++count) {
    char name[16];
    snprintf(name, sizeof name, "x%d", count);
    in[count] = strcmp(c->in[count], "-") == 0 ? NULL : input_of(bed, graph, name, c->in[count]);
  }
  while (attrs < 16 && c->attrs[attrs].name) ++attrs;
  gpu_check(bed, hone_graph_add_node(graph, c->op, "node", in, count, c->attrs, attrs, out, outputs));
  for (int o = 0; o < outputs; ++o) {
    char name[16];
    snprintf(name, sizeof name, "y%d", o);
    gpu_check(bed, hone_graph_add_output(graph, name, out[o]));
  }
  return graph;
}

static void close_bed(gpu_bed *bed) {
  hone_device_close(bed->ref);
  hone_device_close(bed->gpu);
  hone_context_destroy(bed->context);
  *bed = (gpu_bed){0};
}

hone_status gpu_context(hone_context **out) {
  char folders[8192];
  const char *given = getenv("HONE_LIBRARY_PATH"), *built = getenv("HONE_BUILD_DIR"), *cuda = getenv("CUDA_PATH");
  snprintf(folders, sizeof folders, "%s:%s:%s/lib64", given ? given : "", built ? built : "build/release",
           cuda ? cuda : "/usr/local/cuda");
  const hone_context_options options = {.struct_size = sizeof options, .library_path = folders};
  return hone_context_create(&options, out);
}

int gpu_bed_run(gpu_bed *bed, int (*run)(void)) {
  *bed = (gpu_bed){0};
  if (gpu_context(&bed->context) != HONE_OK) return 1;
  int failed = 1;
  if (hone_device_open(bed->context, "gpu", 0, NULL, &bed->gpu) != HONE_OK) {
    print_message("skipped: %s\n", hone_context_message(bed->context, 0, NULL));
    failed = 77;
  } else if (hone_device_open(bed->context, "ref", 0, NULL, &bed->ref) == HONE_OK) {
    hone_facts facts = HONE_SIZED(hone_facts);
    hone_device_facts(bed->gpu, &facts);
    print_message("on %s, %s\n", facts.name, facts.version);
    failed = run();
  }
  close_bed(bed);
  return failed;
}
