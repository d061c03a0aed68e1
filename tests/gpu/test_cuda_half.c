/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_half.c - the CUDA backend in f16, bf16 and tf32 (label gpu; skipped, in words, where there is none): each
 * case is built with the type allowed and everything timed once, so that each tactic and variant that takes it is held
 * against the reference by the build; none may be over its bound. What is chosen is run, plainly and replayed.
 * HONE_TEST_CASES=OP: of this operator alone. HONE_TEST_TYPE=tf32: of this type alone. HONE_TEST_PART=2/8: every eighth
 * case, from the third on, so that several programs side by side share the cases. */
#include "support/gpu_case.h"
#include <unistd.h>

static gpu_bed bed;

#include "gpu/cases_half.inc"

static const char engine_file[] = "test_cuda_half.hone", ledger_file[] = "test_cuda_half.hone.ledger";

typedef struct tally {
  bool of_tf32;
  int held, timed, inexact; /* candidates that hold or compute halves; of these timed; over their bound */
} tally;

/* A tactic or a storage that names f16 or bf16; of tf32, products in it, and what is f32 with its channels last. */
static bool is_counted(const char *line, const tally *t) {
  return t->of_tf32 ? strstr(line, "tf32") || strstr(line, "nhwc") : strstr(line, "f16") != NULL;
}

/* Candidates are a line each. */
static void count_line(const char *line, const char *name, size_t number, tally *t) {
  const char *tactic = strstr(line, "\"tactic\": \"cuda.");
  if (strstr(line, "no tactic of the fused node is within its bound")) {
    ++t->inexact;
    print_error("case %zu, %s: %s", number, name, line);
  }
  if (!tactic || strstr(line, "\"state\": \"rejected\"")) return;
  if (!is_counted(line, t)) return;
  ++t->held;
  t->timed += strstr(line, "\"state\": \"timed\"") != NULL;
  if (!strstr(line, "\"state\": \"inexact\"")) return;
  ++t->inexact;
  print_error("case %zu, %s: %s", number, name, line);
}

static void read_ledger(const op_case *c, size_t number, tally *t) {
  static char line[1 << 16];
  FILE *file = fopen(ledger_file, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) count_line(line, c->op, number, t);
  (void)fclose(file);
}

static double largest(const double *values, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; ++i) most = fmax(most, fabs(values[i]));
  return most;
}

/* Builds with everything that there is but the libraries left out, if any, and reads what was tried. */
static hone_engine *build_case(const op_case *c, size_t number, hone_dtype dtype, bool libraries, tally *own) {
  static const char *const sources[] = {"-CUDNN", "-CUBLAS_LT"};
  const hone_build_options options = {.struct_size = sizeof options,
                                      .level = 5,
                                      .timing_runs = 1,
                                      .precisions = HONE_BIT(dtype),
                                      .tactic_sources = sources,
                                      .tactic_source_count = libraries ? 0 : 2};
  hone_engine *engine;
  hone_graph *graph = gpu_graph(&bed, c);
  *own = (tally){.of_tf32 = dtype == HONE_TF32};
  gpu_check(&bed, hone_engine_build(bed.context, graph, &bed.gpu, 1, &options, &engine));
  gpu_check(&bed, hone_engine_save(engine, engine_file, hone_context_diagnostics(bed.context)));
  read_ledger(c, number, own);
  hone_graph_destroy(graph);
  return engine;
}

/* What has rows of its own in tf32: products, but not of one channel each. Other operators there hold f32 as ever. */
static bool has_rows(const op_case *c, hone_dtype dtype) {
  int each;
  if (dtype != HONE_TF32) return true;
  if (strcmp(c->op, "conv") != 0)
    return strcmp(c->op, "linear") == 0 || strcmp(c->op, "gemm") == 0 || strcmp(c->op, "matmul") == 0;
  return sscanf(c->in[1], "c:%*dx%d", &each) == 1 && each > 1;
}

/* false: something is wrong with it, which was said. */
static bool try_case(const op_case *c, size_t number, hone_dtype dtype, tally *t) {
  static double got[GPU_CASE_MAX_OUT], plain[GPU_CASE_MAX_OUT], want[GPU_CASE_MAX_OUT];
  tally own;
  hone_engine *slow, *engine = build_case(c, number, dtype, false, &own);
  if (own.held == 0 &&
      has_rows(c, dtype)) { /* what our kernels lack ran on the reference, as a host's step: the libraries have it */
    hone_engine_release(engine);
    engine = build_case(c, number, dtype, true, &own);
  }
  hone_graph *graph = gpu_graph(&bed, c);
  gpu_check(&bed, hone_engine_build(bed.context, graph, &bed.ref, 1, NULL, &slow));
  const int64_t count = gpu_run(&bed, engine, true, got, NULL, NULL);
  (void)gpu_run(&bed, engine, false, plain, NULL, NULL);
  assert_int_equal(gpu_run(&bed, slow, false, want, NULL, NULL), count);
  const double error = gpu_distance(got, want, count), bound = dtype == HONE_BF16 ? 3.2e-2 : 4e-3;
  const bool same = memcmp(got, plain, (size_t)count * sizeof *got) == 0;
  const bool good =
      (own.held > 0 || !has_rows(c, dtype)) && own.inexact == 0 && same && (error < bound || largest(want, count) == 0);
  if (!good)
    print_error("case %zu, %s %s in %s: %d candidates in halves, %d inexact, error %.3g, replay %s\n", number, c->op,
                c->in[0], hone_dtype_name(dtype), own.held, own.inexact, error, same ? "same" : "differs");
  t->held += own.held, t->timed += own.timed, t->inexact += own.inexact;
  hone_engine_release(engine);
  hone_engine_release(slow);
  hone_graph_destroy(graph);
  unlink(engine_file);
  unlink(ledger_file);
  return good;
}

static bool is_wanted(const op_case *c, size_t number) {
  const char *only = getenv("HONE_TEST_CASES"), *part = getenv("HONE_TEST_PART");
  const char *of = part ? strchr(part, '/') : NULL;
  const size_t parts = of ? strtoul(of + 1, NULL, 10) : 1;
  if (parts > 1 && number % parts != strtoul(part, NULL, 10)) return false;
  return !only || strcmp(only, c->op) == 0;
}

static void try_all(hone_dtype dtype) {
  const char *only = getenv("HONE_TEST_TYPE");
  int failed = 0;
  if (only && strcmp(only, hone_dtype_name(dtype)) != 0) skip();
  tally t = {.of_tf32 = dtype == HONE_TF32};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k)
    if (is_wanted(&cases[k], k)) failed += !try_case(&cases[k], k, dtype, &t);
  print_message("%s: %d candidates, %d timed, %d inexact\n", hone_dtype_name(dtype), t.held, t.timed, t.inexact);
  assert_int_equal(failed, 0);
}

static void test_f16(void **state) {
  (void)state;
  try_all(HONE_F16);
}
static void test_bf16(void **state) {
  (void)state;
  try_all(HONE_BF16);
}
static void test_tf32(void **state) {
  (void)state;
  try_all(HONE_TF32);
}

static int run_all(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_f16), cmocka_unit_test(test_bf16),
                                     cmocka_unit_test(test_tf32)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return gpu_bed_run(&bed, run_all); }
