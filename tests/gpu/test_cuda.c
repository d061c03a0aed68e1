/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda.c - the CUDA backend on a real GPU (label gpu; skipped, in words, where there is none): every kernel
 * against the reference, a network by hand with its products and chains on the GPU and its other steps on the host,
 * replays that give the same bits as plain runs, engines saved and loaded. */
#include "support/gpu_case.h"
#include "support/small_net.h"
#include <unistd.h>

static gpu_bed bed;

static hone_engine *build(const hone_graph *graph, hone_device *device) {
  hone_engine *engine;
  const hone_build_options options = {.struct_size = sizeof options, .level = 1};
  gpu_check(&bed, hone_engine_build(bed.context, graph, &device, 1, &options, &engine));
  return engine;
}

/* ---- kernels ---- */

static const int64_t two[] = {2, 2}, three[] = {3, 3}, ones[] = {1, 1, 1, 1}, uneven[] = {0, 1, 1, 0},
                     threes[] = {3, 3, 3, 3}, just_two[] = {2}, just_one[] = {1, 1}, just_three[] = {3};
static const int64_t swap_last[] = {0, 2, 1}, to_heads[] = {0, 2, 1, 3}, rotate[] = {2, 0, 1};

static const op_case cases[] = {
    {"add", {"4x5x6", "4x5x6"}, {{0}}},
    {"add", {"4x5x6", "6"}, {{0}}},
    {"mul", {"4x1x6", "5x1"}, {{0}}},
    {"sub", {"7x1", "1x9"}, {{0}}},
    {"div", {"3x128", "3x128"}, {{0}}},
    {"max", {"17", "17"}, {{0}}},
    {"min", {"2x3x4x5", "3x1x5"}, {{0}}},
    {"relu", {"1000"}, {{0}}},
    {"relu", {"1001"}, {{0}}},
    {"gelu", {"64x33"}, {{0}}},
    {"erf", {"64x32"}, {{0}}},
    {"tanh", {"64x32"}, {{0}}},
    {"sigmoid", {"64x32"}, {{0}}},
    {"exp", {"64x32"}, {{0}}},
    {"sin", {"64x32"}, {{0}}},
    {"softplus", {"64x32"}, {{0}}},
    {"hard_swish", {"64x32"}, {{0}}},
    {"where", {"b:5x1", "5x6", "6"}, {{0}}},
    {"greater", {"5x6", "5x6"}, {{0}}},
    {"softmax", {"8x128"}, {{0}}},
    {"softmax", {"2x3x7"}, {{0}}},
    {"softmax", {"2x1000"}, {{0}}},
    {"log_softmax", {"8x33"}, {{0}}},
    {"layer_norm", {"6x96", "c:96", "c:96"}, {REAL("epsilon", 1e-5)}},
    {"layer_norm", {"3x4x50", "c:4x50"}, {INT("axis", 1)}},
    {"rms_norm", {"6x96", "c:96"}, {{0}}},
    {"batch_norm", {"2x12x5x7", "c:12", "c:12", "c:12", "c:12"}, {REAL("epsilon", 10)}},
    {"batch_norm", {"3x40", "c:40", "c:40", "c:40", "c:40"}, {REAL("epsilon", 10)}},
    {"batch_norm", {"1x3x1999", "c:3", "c:3", "c:3", "c:3"}, {REAL("epsilon", 10)}},
    {"gather", {"c:5x24", "i:3x4"}, {INT("axis", 0)}},
    {"gather", {"3x5x8", "i:6"}, {INT("axis", 1)}},
    {"transpose", {"3x5x7"}, {{.name = "perm", .kind = HONE_ATTR_INTS, .count = 3, .ints = swap_last}}},
    {"transpose", {"2x8x4x16"}, {{.name = "perm", .kind = HONE_ATTR_INTS, .count = 4, .ints = to_heads}}},
    {"transpose", {"3x5x7"}, {{.name = "perm", .kind = HONE_ATTR_INTS, .count = 3, .ints = rotate}}},
    {"transpose", {"9x5"}, {{0}}},
    {"linear", {"16x32", "c:32x48", "c:48"}, {{0}}},
    {"linear", {"2x3x32", "c:48x32"}, {INT("transpose_w", 1)}},
    {"linear", {"16x32", "c:32x48", "c:48"}, {TEXT("act", "relu")}},
    {"linear", {"16x32", "c:32x48"}, {TEXT("act", "relu")}},
    {"linear", {"16x32", "c:32x48", "c:48"}, {TEXT("act", "gelu")}},
    {"linear", {"16x32", "c:32x48", "c:48"}, {TEXT("act", "clip"), REAL("act_alpha", -0.5), REAL("act_beta", 0.5)}},
    {"linear", {"16x32", "c:32x48", "c:48", "16x48"}, {TEXT("act", "relu")}},
    {"linear", {"1x700", "c:700x3", "c:3"}, {{0}}},
    {"linear", {"128x768", "c:768x256", "c:256"}, {TEXT("act", "gelu")}},
    {"linear", {"128x768", "c:768x768", "c:768"}, {{0}}},
    {"linear", {"130x768", "768x196", "c:196"}, {{0}}}, /* of weights that the step before may have written */
    {"linear", {"130x1028", "196x1028", "-", "130x196"}, {INT("transpose_w", 1)}},
    {"linear", {"100x640", "c:512x640"}, {INT("transpose_w", 1), TEXT("act", "relu")}},
    {"linear", {"77x300", "c:196x300", "c:196", "77x196"}, {INT("transpose_w", 1)}},
    {"linear", {"2x50x512", "c:512x260", "-", "2x50x260"}, {TEXT("act", "silu")}},
    {"layer_norm", {"3x3000", "c:3000", "c:3000"}, {{0}}},
    {"gemm", {"8x16", "16x24", "24"}, {{0}}},
    {"gemm", {"16x8", "24x16", "8x24"}, {INT("transA", 1), INT("transB", 1), REAL("alpha", 0.5), REAL("beta", 2)}},
    {"matmul", {"8x16", "16x24"}, {{0}}},
    {"matmul", {"2x3x8x16", "2x3x16x24"}, {{0}}},
    {"matmul", {"5x8x16", "16x24"}, {{0}}},
    {"matmul", {"8x16", "5x16x24"}, {{0}}},
    {"linear", {"16x32", "c:32x48", "c:48", "16x48"}, {TEXT("act", "mish")}},
    {"linear", {"16x32", "c:32x48", "c:48"}, {TEXT("act", "elu"), REAL("act_alpha", 0.7)}},
    {"linear", {"16x32", "c:32x48", "c:48"}, {TEXT("act", "gelu_tanh")}},
    {"linear", {"16x32", "c:32x48"}, {TEXT("act", "leaky_relu"), REAL("act_alpha", 0.1)}},
    {"slice", {"4x10x12", "l:2,1", "l:9,4", "l:1,0"}, {{0}}},
    {"slice", {"4x10x12", "l:-1", "l:-20", "l:1", "l:-3"}, {{0}}},
    {"slice", {"4x10x16", "l:4", "l:12", "l:2"}, {{0}}},
    {"slice", {"i:7x3", "l:1", "l:6", "l:0", "l:2"}, {{0}}},
    {"concat", {"3x4x5", "3x2x5", "3x1x5"}, {INT("axis", 1)}},
    {"concat", {"2x64", "3x64"}, {INT("axis", 0)}},
    {"concat", {"3x5", "3x7"}, {INT("axis", -1)}},
    {"split", {"3x8x5", "l:2,5,1"}, {INT("axis", 1)}},
    {"split", {"6x64"}, {INT("axis", 0)}},
    {"expand", {"3x1x5", "l:2,3,4,5"}, {{0}}},
    {"pad", {"3x5x6", "l:0,1,2,0,3,1"}, {{0}}},
    {"pad", {"3x5x6", "l:1,2,2,1", "c:1", "l:1,2"}, {{0}}},
    {"pad", {"3x5x6", "l:0,2,3,0,4,5"}, {TEXT("mode", "reflect")}},
    {"pad", {"3x5x6", "l:0,2,3,0,4,5"}, {TEXT("mode", "edge")}},
    {"cast", {"i:5x7"}, {INT("to", 1)}},
    {"cast", {"i:5x7"}, {INT("to", 6)}},
    {"cast", {"i:5x7"}, {INT("to", 9)}},
    {"cast", {"5x7"}, {INT("to", 7)}},
    {"cast", {"b:5x7"}, {INT("to", 1)}},
    {"cast", {"5x7"}, {INT("to", 10)}},
    {"cast", {"i:5x7"}, {INT("to", 16)}},
    {"gather", {"i:5x8", "i:3x2"}, {INT("axis", 0)}},
    {"reduce_mean", {"4x6x70", "l:-1"}, {{0}}},
    {"reduce_sum", {"4x6x70", "l:1"}, {INT("keepdims", 0)}},
    {"reduce_max", {"4x6x7x5", "l:1,3"}, {{0}}},
    {"reduce_min", {"4x6x7x5", "l:0,2"}, {{0}}},
    {"reduce_prod", {"4x6x7"}, {{0}}},
    {"reduce_l1", {"4x600", "l:1"}, {{0}}},
    {"reduce_l2", {"300x5", "l:0"}, {{0}}},
    {"reduce_sum_square", {"2x3x100", "l:1,2"}, {{0}}},
    {"softmax", {"3x8x5"}, {INT("axis", 1)}},
    {"log_softmax", {"9x40"}, {INT("axis", 0)}},
    {"global_average_pool", {"2x3x7x7"}, {{0}}},
    {"global_average_pool", {"2x3x14x15"}, {{0}}},
    {"global_max_pool", {"2x3x9"}, {{0}}},
    {"max_pool", {"2x3x9x10"}, {INTS("kernel_shape", three), INTS("strides", two), INTS("pads", ones)}},
    {"max_pool", {"2x3x9x10"}, {INTS("kernel_shape", two), INTS("strides", two), INT("ceil_mode", 1)}},
    {"max_pool", {"2x3x9x10"}, {INTS("kernel_shape", three), TEXT("auto_pad", "SAME_UPPER"), INTS("strides", two)}},
    {"max_pool", {"2x3x20"}, {INTS("kernel_shape", just_three), INTS("strides", just_two)}},
    {"average_pool", {"2x3x9x10"}, {INTS("kernel_shape", three), INTS("pads", ones)}},
    {"average_pool",
     {"2x3x9x10"},
     {INTS("kernel_shape", three), INTS("strides", two), INTS("pads", ones), INT("count_include_pad", 1),
      INT("ceil_mode", 1)}},
    {"attention", {"2x7x32", "2x9x32", "2x9x32"}, {INT("q_num_heads", 2), INT("kv_num_heads", 2)}},
    {"attention", {"1x65x256", "1x130x256", "1x130x256"}, {INT("q_num_heads", 4), INT("kv_num_heads", 4)}},
    {"attention", {"1x65x256", "1x65x128", "1x65x128"}, {INT("q_num_heads", 4), INT("kv_num_heads", 2)}},
    {"attention", {"2x3x33x20", "2x3x40x20", "2x3x40x24"}, {{0}}},
    {"attention", {"1x2x5x3", "1x2x6x3", "1x2x6x5"}, {REAL("scale", 0.7)}},
    {"attention", {"1x2x70x64", "1x2x70x64", "1x2x70x64"}, {INT("is_causal", 1)}},
    {"attention", {"2x2x33x16", "2x2x70x16", "2x2x70x16", "2x1x33x70"}, {{0}}},
    {"attention", {"2x2x33x96", "2x2x70x96", "2x2x70x96", "70"}, {{0}}},
    {"attention", {"1x2x40x128", "1x2x70x128", "1x2x70x100", "40x70"}, {{0}}},
    {"attention", {"1x2x35x64", "1x2x300x64", "1x2x300x60", "35x300"}, {{0}}}, /* three tiles of keys */
    {"attention", {"1x1x300x32", "1x1x300x32", "1x1x300x32"}, {INT("is_causal", 1)}},
    {"qkv_attention", {"1x128x576"}, {INT("q_num_heads", 3), INT("kv_num_heads", 3)}},
    {"qkv_attention", {"2x37x160"}, {INT("q_num_heads", 8), INT("kv_num_heads", 4), INT("is_causal", 1)}},
    {"qkv_attention", {"2x50x192", "2x1x1x50"}, {INT("q_num_heads", 2), INT("kv_num_heads", 2)}},
    {"lstm", {"9x1x24", "c:1x400x24", "c:1x400x100", "c:1x800"}, {INT("hidden_size", 100)}},
    {"lstm",
     {"7x2x37", "c:2x240x37", "c:2x240x60", "c:2x480", "-", "2x2x60", "2x2x60"},
     {TEXT("direction", "bidirectional"), INT("hidden_size", 60)}},
    {"lstm", {"2x9x300", "c:1x1240x300", "c:1x1240x310"}, {INT("hidden_size", 310), INT("layout", 1)}},
    {"gru",
     {"9x2x24", "c:1x300x24", "c:1x300x100", "c:1x600"},
     {TEXT("direction", "reverse"), INT("hidden_size", 100), INT("linear_before_reset", 1)}},
    {"conv", {"2x6x9x10", "c:8x6x3x3", "c:8"}, {INTS("pads", ones)}},
    {"conv", {"2x6x9x10", "c:8x6x3x3"}, {INTS("strides", two)}},
    {"conv", {"1x3x32x32", "c:16x3x7x7", "c:16"}, {INTS("pads", threes), INTS("strides", two), TEXT("act", "relu")}},
    {"conv", {"1x16x14x14", "c:24x16x1x1", "c:24", "1x24x14x14"}, {TEXT("act", "silu")}},
    {"conv", {"1x16x14x14", "c:16x8x3x3", "c:16"}, {INT("group", 2), INTS("pads", ones)}},
    {"conv",
     {"1x16x14x15", "c:16x1x3x3", "c:16"},
     {INT("group", 16), INTS("pads", ones), TEXT("act", "clip"), REAL("act_alpha", 0), REAL("act_beta", 0.5)}},
    {"conv", {"1x16x14x15", "c:16x1x3x3"}, {INT("group", 16), INTS("pads", uneven), INTS("strides", two)}},
    {"conv", {"2x48x14x14", "c:64x48x3x3", "c:64", "2x64x14x14"}, {INTS("pads", ones), TEXT("act", "relu")}},
    {"conv", {"1x200x7x7", "c:130x200x3x3", "c:130"}, {INTS("pads", ones), TEXT("act", "hard_swish")}},
    {"conv", {"1x96x15x13", "c:100x96x3x3"}, {INTS("pads", uneven), INTS("strides", two), INTS("dilations", two)}},
    {"conv", {"1x256x14x14", "c:70x256x1x1", "c:70"}, {TEXT("act", "mish")}},
    {"conv", {"1x300x7x7", "c:70x300x1x1", "c:70"}, {{0}}},
    {"conv", {"1x130x60", "c:66x130x5", "c:66"}, {TEXT("act", "elu"), REAL("act_alpha", 1)}},
    {"conv", {"2x4x30", "c:6x4x3", "c:6"}, {INTS("pads", just_one)}},
    {"conv", {"1x8x12x12", "c:8x8x3x3"}, {INTS("dilations", two)}},
    {"conv_transpose", {"1x8x7x9", "c:8x5x2x2", "c:5"}, {INTS("strides", two)}},
    {"conv_transpose", {"1x8x7x9", "c:8x5x3x3", "c:5"}, {INTS("pads", ones), TEXT("act", "relu")}},
    {"resize", {"2x3x9x10", "-", "-", "l:2,3,18,20"}, {{0}}},
    {"resize", {"2x3x9x10", "-", "-", "l:2,3,17,33"}, {TEXT("mode", "linear")}},
};

/* Convolutions need cuDNN, which is optional. */
static bool is_missing(const op_case *c) {
  hone_facts facts = HONE_SIZED(hone_facts);
  hone_device_facts(bed.gpu, &facts);
  return strncmp(c->op, "conv", 4) == 0 && strstr(facts.version, "cudnn 0");
}

static void test_kernels(void **state) {
  (void)state;
  static double got[GPU_CASE_MAX_OUT], plain[GPU_CASE_MAX_OUT], want[GPU_CASE_MAX_OUT];
  int failed = 0;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    if (is_missing(&cases[k])) {
      print_message("left out, without cuDNN: %s\n", cases[k].op);
      continue;
    }
    hone_graph *graph = gpu_graph(&bed, &cases[k]);
    hone_engine *engine = build(graph, bed.gpu), *slow = build(graph, bed.ref);
    int host = 0;
    int64_t replayed = 0;
    const int64_t count = gpu_run(&bed, engine, true, got, &replayed, &host);
    (void)gpu_run(&bed, engine, false, plain, NULL, NULL);
    assert_int_equal(gpu_run(&bed, slow, false, want, NULL, NULL), count);
    const double error = gpu_distance(got, want, count);
    const bool same = memcmp(got, plain, (size_t)count * sizeof *got) == 0;
    if (!(error < 1e-5) || !same || host || replayed < 1) {
      ++failed;
      print_error("case %zu, %s %s: error %.3g, replay %s, %d steps on the host, %lld replayed\n", k, cases[k].op,
                  cases[k].in[0], error, same ? "same" : "differs", host, (long long)replayed);
    }
    hone_engine_release(engine);
    hone_engine_release(slow);
    hone_graph_destroy(graph);
  }
  assert_int_equal(failed, 0);
}

/* ---- every tactic and variant of the heavy operators, whichever is the fastest ---- */

static bool try_forced(const hone_graph *graph, const char *tactic, double *got, int64_t *out_count) {
  hone_engine *engine;
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .tactics = &tactic, .tactic_count = 1};
  if (hone_engine_build(bed.context, graph, &bed.gpu, 1, &options, &engine) != HONE_OK) {
    hone_context_clear_messages(bed.context); /* it does not take this case, or has no such variant */
    return false;
  }
  *out_count = gpu_run(&bed, engine, false, got, NULL, NULL);
  hone_engine_release(engine);
  return true;
}

static void test_variants(void **state) {
  (void)state;
  static const char *const names[] = {"linear.f32.slices", "conv.f32.implicit", "linear.f32.cluster"};
  static const int slices[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 16, 22, 36}, rows[] = {2, 4, 8};
  static double got[GPU_CASE_MAX_OUT], want[GPU_CASE_MAX_OUT];
  char list[180][96];
  int count = 0, tried = 0, failed = 0;
  for (int k = 0; k < 3; ++k)
    for (int tile = 0; tile < 4; ++tile)
      for (size_t i = 0; i < sizeof slices / sizeof *slices; ++i)
        snprintf(list[count++], sizeof *list, "node=cuda.%s:tile=%d,slices=%d", names[k], tile, slices[i]);
  for (int i = 0; i < 3; ++i) snprintf(list[count++], sizeof *list, "node=cuda.*attention.f32:rows=%d", rows[i]);
  for (int i = 0; i < 4; ++i) snprintf(list[count++], sizeof *list, "node=cuda.conv*.f32.cudnn:proposal=%d", i);
  for (int i = 0; i < 8; ++i) snprintf(list[count++], sizeof *list, "node=cuda.linear.f32.cublaslt*:proposal=%d", i);
  snprintf(list[count++], sizeof *list, "node=cuda.conv.f32.depthwise");
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    const char *op = cases[k].op;
    if (strncmp(op, "conv", 4) != 0 && strcmp(op, "linear") != 0 && !strstr(op, "attention")) continue;
    hone_graph *graph = gpu_graph(&bed, &cases[k]);
    hone_engine *slow = build(graph, bed.ref);
    const int64_t wanted = gpu_run(&bed, slow, false, want, NULL, NULL);
    for (int i = 0; i < count; ++i) {
      int64_t made;
      if (!strstr(list[i], strncmp(op, "conv", 4) == 0 ? "conv" : strcmp(op, "linear") == 0 ? "linear" : "attention"))
        continue;
      if (!try_forced(graph, list[i], got, &made)) continue;
      ++tried;
      const double error = made == wanted ? gpu_distance(got, want, wanted) : 1;
      if (error < 1e-5) continue;
      ++failed;
      print_error("case %zu, %s %s on %s: error %.3g\n", k, op, cases[k].in[0], list[i], error);
    }
    hone_engine_release(slow);
    hone_graph_destroy(graph);
  }
  print_message("%d pairs of case and variant\n", tried);
  assert_int_equal(failed, 0);
  assert_true(tried > 100);
}

/* ---- a network by hand ---- */

static hone_value *constant(hone_graph *graph, const char *shape, float scale) {
  hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = gpu_shape(shape)};
  hone_tensor tensor;
  hone_value *value;
  gpu_check(&bed, hone_tensor_alloc(bed.context, &type, &tensor));
  for (int64_t i = 0; i < hone_tensor_count(&tensor); ++i)
    hone_tensor_set_real(&tensor, i, (double)(gpu_number(&bed) * scale));
  gpu_check(&bed, hone_graph_add_constant(graph, NULL, &tensor, &value));
  hone_tensor_free(bed.context, &tensor);
  return value;
}

static hone_value *node(hone_graph *graph, const char *op, hone_value *a, hone_value *b) {
  hone_value *const in[2] = {a, b};
  hone_value *out;
  gpu_check(&bed, hone_graph_add_node(graph, op, NULL, in, b ? 2 : 1, NULL, 0, &out, 1));
  return out;
}

static void test_mlp(void **state) {
  (void)state;
  static double got[GPU_CASE_MAX_OUT], plain[GPU_CASE_MAX_OUT], again[GPU_CASE_MAX_OUT], want[GPU_CASE_MAX_OUT];
  const int64_t dims[2] = {16, 256};
  hone_graph *graph;
  hone_value *x, *skip;
  bed.seed = 3;
  gpu_check(&bed, hone_graph_create(bed.context, "mlp", &graph));
  gpu_check(&bed, hone_graph_add_input(graph, "x", HONE_F32, 2, dims, NULL, &x));
  x = node(graph, "relu",
           node(graph, "add", node(graph, "matmul", x, constant(graph, "256x512", 0.1f)), constant(graph, "512", 0.1f)),
           NULL);
  skip = x;
  x = node(graph, "gelu",
           node(graph, "add", node(graph, "matmul", x, constant(graph, "512x512", 0.1f)), constant(graph, "512", 0.1f)),
           NULL);
  x = node(graph, "mul", node(graph, "tanh", node(graph, "add", x, skip), NULL), constant(graph, "512", 1));
  x = node(graph, "softsign", x, NULL);
  int64_t along_rows = 0;
  const hone_tensor axis = {{HONE_TENSOR, HONE_I64, HONE_PLAIN, {0, {0}}}, &along_rows, sizeof along_rows};
  hone_value *axis_value;
  gpu_check(&bed, hone_graph_add_constant(graph, NULL, &axis, &axis_value));
  x = node(graph, "cum_sum", x, axis_value); /* the host's step */
  x = node(graph, "matmul", x, constant(graph, "512x10", 0.3f));
  x = node(graph, "softmax", x, NULL);
  gpu_check(&bed, hone_graph_add_output(graph, "y", x));
  hone_engine *engine = build(graph, bed.gpu), *slow = build(graph, bed.ref), *loaded;
  int host = 0;
  int64_t replayed = 0;
  const int64_t count = gpu_run(&bed, engine, true, got, &replayed, &host);
  (void)gpu_run(&bed, engine, false, plain, NULL, NULL);
  (void)gpu_run(&bed, slow, false, want, NULL, NULL);
  print_message("mlp: error %.3g, %d host steps, %lld steps replayed\n", gpu_distance(got, want, count), host,
                (long long)replayed);
  assert_true(gpu_distance(got, want, count) < 1e-4);
  assert_memory_equal(got, plain, (size_t)count * sizeof *got);
  assert_int_equal(host, 1);
  assert_true(replayed >= 4);
  gpu_check(&bed, hone_engine_save(engine, "test_cuda.hone", hone_context_diagnostics(bed.context)));
  gpu_check(&bed, hone_engine_load(bed.context, "test_cuda.hone", &bed.gpu, 1, &loaded));
  (void)gpu_run(&bed, loaded, true, again, NULL, NULL);
  assert_memory_equal(got, again, (size_t)count * sizeof *got);
  unlink("test_cuda.hone");
  unlink("test_cuda.hone.ledger");
  hone_engine_release(loaded);
  hone_engine_release(engine);
  hone_engine_release(slow);
  hone_graph_destroy(graph);
}

/* A free batch: each shape is made ready anew, with the tactics that were tuned for one of them. */
static void test_free_batch(void **state) {
  (void)state;
  hone_graph *graph;
  hone_device *const devices[2] = {bed.gpu, bed.ref};
  hone_engine *engines[2];
  hone_session *sessions[2];
  const hone_profile_shape profile = {
      .input = "x", .min = {4, {1, 3, 16, 16}}, .opt = {4, {2, 3, 16, 16}}, .max = {4, {40, 3, 16, 16}}};
  const hone_build_options options = {.struct_size = sizeof options, .level = 2, .shapes = &profile, .shape_count = 1};
  gpu_check(&bed, small_net_graph(bed.context, true, &graph));
  for (int e = 0; e < 2; ++e) {
    gpu_check(&bed, hone_engine_build(bed.context, graph, &devices[e], 1, &options, &engines[e]));
    gpu_check(&bed, hone_session_create(engines[e], NULL, &sessions[e], hone_context_diagnostics(bed.context)));
  }
  for (int round = 0; round < 8; ++round) {
    const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {1 + round * 13 % 40, 3, 16, 16}}};
    hone_tensor x, y[2];
    double error = 0, sum = 0;
    gpu_check(&bed, hone_tensor_alloc(bed.context, &type, &x));
    small_net_fill(&x, (uint64_t)round);
    for (int e = 0; e < 2; ++e) {
      gpu_check_session(sessions[e], hone_session_copy_in(sessions[e], "x", &x));
      gpu_check_session(sessions[e], hone_session_run(sessions[e]));
      gpu_check_session(sessions[e], hone_session_tensor(sessions[e], "y", &y[e]));
    }
    assert_int_equal(y[0].bytes, y[1].bytes);
    for (int64_t i = 0; i < hone_tensor_count(&y[0]); ++i) {
      const double got = hone_tensor_real(&y[0], i), want = hone_tensor_real(&y[1], i);
      error += (got - want) * (got - want);
      sum += want * want;
    }
    assert_true(sqrt(error) < 1e-5 * sqrt(sum));
    hone_tensor_free(bed.context, &x);
  }
  hone_session_stats stats = HONE_SIZED(hone_session_stats);
  hone_session_get_stats(sessions[0], &stats);
  assert_true(stats.instances > 0 && stats.replays >= stats.instances);
  for (int e = 0; e < 2; ++e) {
    hone_session_destroy(sessions[e]);
    hone_engine_release(engines[e]);
  }
  hone_graph_destroy(graph);
}

static int run_all(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_variants),
                                     cmocka_unit_test(test_free_batch), cmocka_unit_test(test_mlp)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return gpu_bed_run(&bed, run_all); }
