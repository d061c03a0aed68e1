/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_bytes.c - the CUDA backend on u8, i8 and e4m3 (label gpu; skipped, in words, where there is none): each
 * case is built with everything timed once, so that each tactic and variant that takes it is held against the reference
 * by the build; all must have its bytes. What is chosen is run, plainly and replayed, and must have them, too.
 * HONE_TEST_CASES=OP: of this operator alone. HONE_TEST_PART=2/8: every eighth case, from the third on, so that several
 * programs side by side share the cases. HONE_TEST_TIMES=1: what each candidate took. */
#include "support/gpu_case.h"
#include <unistd.h>

static gpu_bed bed;

#include "gpu/cases_bytes.inc"

typedef struct tally {
  int held, timed, inexact; /* candidates on the device; of these timed; that differ from the reference */
} tally;

static const char *after(const char *line, const char *key) {
  const char *at = strstr(line, key);
  return at ? at + strlen(key) : NULL;
}

/* Candidates are a line each. */
static void count_line(const char *line, const char *name, size_t number, tally *t) {
  if (!strstr(line, "\"tactic\": \"cuda.") || strstr(line, "\"state\": \"rejected\"")) return;
  const char *error = after(line, "\"error\": ");
  const bool differs = (error && strtod(error, NULL) != 0) || strstr(line, "\"state\": \"inexact\"") != NULL;
  ++t->held;
  t->timed += strstr(line, "\"state\": \"timed\"") != NULL;
  t->inexact += differs;
  if (differs || getenv("HONE_TEST_TIMES")) print_message("case %zu, %s: %s", number, name, line);
}

static void read_ledger(const op_case *c, const char *path, size_t number, tally *t) {
  static char line[1 << 16];
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) count_line(line, c->op, number, t);
  (void)fclose(file);
}

static hone_engine *build_case(const op_case *c, size_t number, tally *own) {
  char path[64], ledger[80];
  const hone_build_options options = {.struct_size = sizeof options, .level = 5, .timing_runs = 1};
  hone_engine *engine;
  hone_graph *graph = gpu_graph(&bed, c);
  snprintf(path, sizeof path, "test_cuda_bytes_%zu.hone", number);
  snprintf(ledger, sizeof ledger, "%s.ledger", path);
  gpu_check(&bed, hone_engine_build(bed.context, graph, &bed.gpu, 1, &options, &engine));
  gpu_check(&bed, hone_engine_save(engine, path, hone_context_diagnostics(bed.context)));
  *own = (tally){0};
  read_ledger(c, ledger, number, own);
  hone_graph_destroy(graph);
  unlink(path);
  unlink(ledger);
  return engine;
}

static int64_t differing(const double *got, const double *want, int64_t count) {
  int64_t different = 0;
  for (int64_t i = 0; i < count; ++i) different += !(got[i] == want[i]);
  return different;
}

/* false: something is wrong with it, which was said. */
static bool try_case(const op_case *c, size_t number, tally *t) {
  static double got[GPU_CASE_MAX_OUT], plain[GPU_CASE_MAX_OUT], want[GPU_CASE_MAX_OUT];
  tally own;
  int host = 0;
  hone_engine *slow, *engine = build_case(c, number, &own);
  hone_graph *graph = gpu_graph(&bed, c);
  gpu_check(&bed, hone_engine_build(bed.context, graph, &bed.ref, 1, NULL, &slow));
  const int64_t count = gpu_run(&bed, engine, true, got, NULL, NULL);
  (void)gpu_run(&bed, engine, false, plain, NULL, &host);
  assert_int_equal(gpu_run(&bed, slow, false, want, NULL, NULL), count);
  const int64_t wrong = differing(got, want, count), plainly = differing(plain, want, count);
  const bool good = own.held > 0 && own.inexact == 0 && wrong == 0 && plainly == 0 && host == 0;
  if (!good)
    print_error(
        "case %zu, %s %s: %d candidates, %d inexact; of %lld numbers %lld differ replayed, %lld plainly; %d steps "
        "of the host\n",
        number, c->op, c->in[0], own.held, own.inexact, (long long)count, (long long)wrong, (long long)plainly, host);
  t->held += own.held, t->timed += own.timed, t->inexact += own.inexact;
  hone_engine_release(engine);
  hone_engine_release(slow);
  hone_graph_destroy(graph);
  return good;
}

static bool is_wanted(const op_case *c, size_t number) {
  const char *only = getenv("HONE_TEST_CASES"), *part = getenv("HONE_TEST_PART");
  const char *of = part ? strchr(part, '/') : NULL;
  const size_t parts = of ? strtoul(of + 1, NULL, 10) : 1;
  if (parts > 1 && number % parts != strtoul(part, NULL, 10)) return false;
  return !only || strcmp(only, c->op) == 0;
}

static void test_bytes(void **state) {
  (void)state;
  int failed = 0;
  tally t = {0};
  for (size_t k = 0; k < sizeof byte_cases / sizeof *byte_cases; ++k)
    if (is_wanted(&byte_cases[k], k)) failed += !try_case(&byte_cases[k], k, &t);
  print_message("%d candidates, %d timed, %d differ; %d cases failed\n", t.held, t.timed, t.inexact, failed);
  assert_int_equal(failed, 0);
}

static int run_all(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return gpu_bed_run(&bed, run_all); }
