/* SPDX-License-Identifier: Apache-2.0 */
/* conformance.c - runs the ONNX backend tests: each in a child process, by the reference alone and by an engine tuned
 * for the CPU. |a - b| <= 1e-7 + 1e-3 |b|, NaN equals NaN, element types and shapes must be the same, strings exactly.
 * With --gpu by an engine for the GPU instead, chosen by estimates: opening one takes longer than most tests, so that a
 * child runs many tests, until one of them ends it; steps that ran on the host are counted.
 * usage: conformance SUITE [--verbose] [--only PART_OF_A_NAME] [--jobs N] [--gpu] */
#include "support/model_case.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TESTS = 4096, MAX_JOBS = 16, CPU_LIMIT_S = 60, WALL_LIMIT_S = 900, MAX_REASONS = 512 };
enum { GPU_TESTS = 48 }; /* of a child: their results fit into a pipe that nobody reads before its end */
/* Models that cost more are not run by the reference as well: it is right, not fast. */
static const double reference_flops_limit = 5e8;

/* Tests whose expectation the reference misses, and why: it computes in double, and what is expected holds the rounding
 * of single precision. The tuned engine, whose kernels compute in single precision as the expectation did, must pass.
 * The list is exact: a test that the reference passes does not belong here. */
static const struct {
  const char *name, *why;
} too_exact[] = {{"node/test_dft_inverse",
                  "1.9e-7 is expected, which a single-precision transform leaves where the sum is 0 (7e-16)"},
                 {"node/test_dft_inverse_opset19",
                  "1.9e-7 is expected, which a single-precision transform leaves where the sum is 0"}};

typedef enum outcome { PASSED, UNSUPPORTED, FAILED, CRASHED, OUTCOME_COUNT } outcome;
typedef enum how_run { ALL_TUNED, SOME_TUNED, REFERENCE_ONLY, NO_STEPS, HOW_COUNT } how_run;
static const char *const outcome_names[] = {"passed", "unsupported", "failed", "crashed"};
static const char *const how_names[] = {"every step tuned", "some steps tuned", "reference only", "folded, no step"};

typedef struct test {
  char *name, *model, *prefix;
  bool flat;
} test;

/* What a child writes to its parent, whole or not at all. */
typedef struct result {
  outcome outcome;
  how_run how;
  bool reference_skipped, too_exact, is_drawn;
  int host_steps;      /* by tactics of the CPU, where the engine is for the GPU */
  char host_first[64]; /* the first of those tactics */
  char text[480];
} result;

typedef struct job {
  pid_t pid;
  int pipe, first, count; /* tests, one after the other */
} job;

typedef struct suite {
  const char *root, *only;
  bool verbose, gpu;
  int jobs, count;
  test tests[MAX_TESTS];
  result results[MAX_TESTS];
} suite;

/* ---- in the child ---- */

static void set(result *r, outcome o, const char *stage, const char *text) {
  r->outcome = o;
  snprintf(r->text, sizeof r->text, "%s: %s", stage, text);
  for (char *at = r->text; *at; ++at)
    if (*at == '\n') *at = ' ';
}

/* Unsupported is clean only with a message that says what, where and in which opset. */
static void set_status(result *r, hone_status status, const char *stage, const char *message) {
  char text[400];
  snprintf(text, sizeof text, "%s: %s", hone_status_name(status), message ? message : "(no message)");
  if (status != HONE_UNSUPPORTED || !message)
    set(r, FAILED, stage, text);
  else if (!strstr(message, "node \"") || !strstr(message, ", opset "))
    set(r, FAILED, "a message without node, operator or opset", text);
  else
    set(r, UNSUPPORTED, stage, text);
}

static void set_from_context(result *r, hone_status status, const char *stage, const hone_context *context) {
  const char *message = NULL;
  for (int i = 0; i < hone_context_message_count(context); ++i) {
    hone_status one;
    const char *text = hone_context_message(context, i, &one);
    if (one == status || !message) message = text;
    if (one == status) break;
  }
  set_status(r, status, stage, message);
}

/* The outputs are random numbers, which the operator does not fix, of 0 and 1: type, shape and range can be compared.
 */
static bool are_drawn(const char *name) { return strncmp(name, "node/test_bernoulli", 19) == 0; }

/* Whether all that was drawn is 0 or 1. */
static bool is_drawn_well(const model_case *c, hone_session *session, int output) {
  hone_tensor got;
  if (hone_session_tensor(session, hone_graph_output_name(c->graph, output), &got) != HONE_OK) return false;
  for (int64_t i = 0; i < hone_tensor_count(&got); ++i) {
    const double value = hone_tensor_real(&got, i);
    if (value != 0 && value != 1) return false;
  }
  return true;
}

static bool compare_all(const model_case *c, hone_session *session, const char *stage, result *r) {
  for (int j = 0; j < c->want_count; ++j) {
    if (!c->want[j].data) continue;
    model_case_error error;
    model_case_compare(c, session, j, r->is_drawn ? 1 : 1e-7, 1e-3, &error);
    if (!error.comparable || error.comparison.mismatches) {
      set(r, FAILED, stage, error.why);
      return false;
    }
    if (r->is_drawn && !is_drawn_well(c, session, j)) {
      set(r, FAILED, stage, "an output is neither 0 nor 1");
      return false;
    }
  }
  return true;
}

static void count_host_step(const char *tactic, result *r) {
  if (strncmp(tactic, "cuda.", 5) == 0) return;
  if (r->host_steps++ == 0) snprintf(r->host_first, sizeof r->host_first, "%s", tactic);
}

static how_run steps_of(const hone_session *session, double *flops, result *r) {
  int tuned = 0, reference = 0;
  for (int s = 0; s < hone_session_step_count(session); ++s) {
    hone_step_profile step = HONE_SIZED(hone_step_profile);
    if (hone_session_step(session, s, &step) != HONE_OK || !step.tactic) continue;
    ++*(step.reference ? &reference : &tuned);
    count_host_step(step.tactic, r);
    *flops += step.cost.flops;
  }
  if (tuned + reference == 0) return NO_STEPS;
  return reference == 0 ? ALL_TUNED : tuned ? SOME_TUNED : REFERENCE_ONLY;
}

typedef enum how_built { BY_TIMES, BY_REFERENCE, FOR_GPU } how_built;

/* Builds, runs and compares once. False: r says why not. */
static bool run_once(const model_case *c, hone_device *device, how_built how, double *flops, result *r) {
  static const char *const stages[] = {
      [BY_TIMES] = "tuned", [BY_REFERENCE] = "by the reference", [FOR_GPU] = "on the GPU"};
  const char *stage = stages[how];
  const hone_build_options options = {
      .struct_size = sizeof options, .reference_only = how == BY_REFERENCE, .level = how == BY_TIMES ? 1 : -1};
  hone_engine *engine;
  hone_status status = model_case_build(c, device, &options, &engine);
  if (status != HONE_OK) {
    set_from_context(r, status, stage, c->context);
    return false;
  }
  const hone_session_options session_options = {.struct_size = sizeof session_options, .profile = true};
  hone_session *session;
  status = hone_session_create(engine, &session_options, &session, hone_context_diagnostics(c->context));
  hone_engine_release(engine);
  if (status != HONE_OK) {
    set_from_context(r, status, stage, c->context);
    return false;
  }
  status = model_case_feed(c, session);
  if (status == HONE_OK) status = hone_session_run(session);
  bool same = false;
  if (status != HONE_OK) {
    set_status(r, status, stage, hone_session_message_count(session) ? hone_session_message(session, 0, NULL) : NULL);
  } else {
    const how_run steps = steps_of(session, flops, r);
    if (how != BY_REFERENCE) r->how = steps;
    same = compare_all(c, session, stage, r);
  }
  hone_session_destroy(session);
  return same;
}

static const char *why_too_exact(const char *name) {
  for (size_t i = 0; i < sizeof too_exact / sizeof *too_exact; ++i)
    if (strcmp(name, too_exact[i].name) == 0) return too_exact[i].why;
  return NULL;
}

static void run_case(const test *t, const model_case *c, hone_device *device, bool gpu, result *r) {
  double flops = 0;
  r->is_drawn = are_drawn(t->name);
  if (!run_once(c, device, gpu ? FOR_GPU : BY_TIMES, &flops, r)) return;
  if (gpu) {
    r->outcome = PASSED;
    return;
  }
  r->reference_skipped = flops > reference_flops_limit;
  r->too_exact = why_too_exact(t->name) != NULL;
  if (!r->reference_skipped) {
    const bool same = run_once(c, device, BY_REFERENCE, &flops, r);
    if (!same && !r->too_exact) return;
    if (same && r->too_exact) {
      set(r, FAILED, "by the reference", "it is listed as too exact to agree, and agrees");
      return;
    }
  }
  r->outcome = PASSED;
}

static void run_test(const test *t, hone_context *context, hone_device *device, bool gpu, result *r) {
  model_case c;
  const hone_status status = model_case_open(context, t->model, t->prefix, t->flat, &c);
  if (status != HONE_OK) {
    set_from_context(r, status, "import", context);
    return;
  }
  run_case(t, &c, device, gpu, r);
  model_case_close(&c);
}

/* The child's exit code. */
static int run_tests(const suite *s, int first, int count, int out) {
  const hone_device_options one_thread = {.struct_size = sizeof one_thread, .threads = 1};
  const char *kind = s->gpu ? "gpu" : "cpu";
  hone_context *context;
  hone_device *device;
  if (hone_context_create(NULL, &context) != HONE_OK) return 2;
  const hone_status opened = hone_device_open(context, kind, 0, s->gpu ? NULL : &one_thread, &device);
  bool good = true;
  for (int i = first; good && i < first + count; ++i) {
    result r = {.outcome = FAILED, .text = "no result"};
    if (opened == HONE_OK)
      run_test(&s->tests[i], context, device, s->gpu, &r);
    else
      set_from_context(&r, HONE_DEVICE, kind, context);
    hone_context_clear_messages(context);
    good = write(out, &r, sizeof r) == sizeof r;
  }
  if (opened == HONE_OK) hone_device_close(device);
  hone_context_destroy(context);
  return good ? 0 : 2;
}

/* ---- in the parent ---- */

static job start(const suite *s, int first, int count) {
  int ends[2];
  if (pipe(ends) != 0) exit(2);
  fflush(NULL);
  const pid_t pid = fork();
  if (pid < 0) exit(2);
  if (pid == 0) {
    close(ends[0]);
    alarm(WALL_LIMIT_S);
    const struct rlimit no_core = {0, 0}, cpu = {CPU_LIMIT_S, CPU_LIMIT_S + 1}; /* a busy machine is no failure */
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &no_core);
    _exit(run_tests(s, first, count, ends[1]));
  }
  close(ends[1]);
  return (job){.pid = pid, .pipe = ends[0], .first = first, .count = count};
}

/* What ended a child whose tests did not all tell their results. */
static void set_crashed(result *r, int wait_status) {
  *r = (result){.outcome = CRASHED, .text = "the process ended without a result"};
  if (!WIFSIGNALED(wait_status)) return;
  const int number = WTERMSIG(wait_status);
  const bool waited = number == SIGALRM, worked = number == SIGXCPU;
  snprintf(r->text, sizeof r->text,
           waited   ? "no end after %d s"
           : worked ? "more than %d s of work"
                    : "signal %d",
           waited   ? WALL_LIMIT_S
           : worked ? CPU_LIMIT_S
                    : number);
}

static void tell(const suite *s, int at) {
  const result *r = &s->results[at];
  if (!s->verbose && r->outcome != FAILED && r->outcome != CRASHED) return;
  printf("%-11s %s%s%s%s", outcome_names[r->outcome], s->tests[at].name, r->outcome == PASSED ? " - " : ": ",
         r->outcome == PASSED ? how_names[r->how] : r->text, r->reference_skipped ? ", too big for the reference" : "");
  if (s->gpu && r->host_steps > 0) printf(", %d steps on the host, the first by %s", r->host_steps, r->host_first);
  printf("\n");
}

/* Takes the results of a child that ended: how many there are. What ended it before it had run all is one of them. */
static int finish(suite *s, const job *j, int wait_status) {
  int told = 0;
  while (told < j->count && read(j->pipe, &s->results[j->first + told], sizeof(result)) == sizeof(result)) ++told;
  close(j->pipe);
  const bool bad = WIFSIGNALED(wait_status) || WEXITSTATUS(wait_status) != 0;
  if (told < j->count)
    set_crashed(&s->results[j->first + told++], wait_status);
  else if (bad)
    set_crashed(&s->results[j->first + told - 1], wait_status);
  for (int i = 0; i < told; ++i) tell(s, j->first + i);
  return told;
}

static void run_all(suite *s) {
  job jobs[MAX_JOBS];
  const int most = s->gpu ? GPU_TESTS : 1;
  int running = 0, next = 0;
  while (next < s->count || running > 0) {
    while (running < s->jobs && next < s->count) {
      const int count = s->count - next < most ? s->count - next : most;
      jobs[running++] = start(s, next, count);
      next += count;
    }
    int status;
    const pid_t pid = wait(&status);
    for (int i = 0; i < running; ++i) {
      if (jobs[i].pid != pid) continue;
      const int done = finish(s, &jobs[i], status);
      const job rest = {.first = jobs[i].first + done, .count = jobs[i].count - done};
      jobs[i] = rest.count > 0 ? start(s, rest.first, rest.count) : jobs[--running];
      break;
    }
  }
}

static int compare_tests(const void *a, const void *b) {
  return strcmp(((const test *)a)->name, ((const test *)b)->name);
}

static char *joined(const char *a, const char *b, const char *c, const char *d) {
  const size_t room = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
  char *text = malloc(room);
  if (!text) exit(2);
  snprintf(text, room, "%s%s%s%s", a, b, c, d);
  return text;
}

/* A test is FOLDER/NAME/model.onnx, or FOLDER/NAME.onnx with FOLDER/NAME_output_0.pb. */
static void find_tests(suite *s, const char *folder) {
  char *path = joined(s->root, "/", folder, "/");
  DIR *dir = opendir(path);
  for (const struct dirent *entry; dir && (entry = readdir(dir)) && s->count < MAX_TESTS;) {
    const size_t length = strlen(entry->d_name);
    const bool flat = length > 5 && strcmp(entry->d_name + length - 5, ".onnx") == 0;
    test t = {.flat = flat};
    if (flat) {
      char *stem = joined(entry->d_name, "", "", "");
      stem[length - 5] = 0;
      t.name = joined(folder, "/", stem, "");
      t.model = joined(path, entry->d_name, "", "");
      t.prefix = joined(path, stem, "_", "");
      free(stem);
    } else {
      t.name = joined(folder, "/", entry->d_name, "");
      t.model = joined(path, entry->d_name, "/model.onnx", "");
      t.prefix = joined(path, entry->d_name, "/test_data_set_0/", "");
    }
    if (access(t.model, R_OK) == 0 && (!s->only || strstr(t.name, s->only))) s->tests[s->count++] = t;
  }
  if (dir) closedir(dir);
  free(path);
}

/* The operator that "(Conv, opset 11)" names. */
static void operator_of(const char *text, char *out, size_t room) {
  const char *end = strstr(text, ", opset ");
  const char *begin = end;
  while (begin && begin > text && begin[-1] != '(') --begin;
  snprintf(out, room, "%.*s", begin ? (int)(end - begin) : 1, begin ? begin : "?");
}

typedef struct reason {
  char name[64];
  const char *example;
  int count;
} reason;

static int compare_reasons(const void *a, const void *b) {
  const reason *x = a, *y = b;
  return x->count != y->count ? y->count - x->count : strcmp(x->name, y->name);
}

static void print_reasons(const suite *s) {
  static reason reasons[MAX_REASONS];
  int count = 0;
  for (int i = 0; i < s->count; ++i) {
    if (s->results[i].outcome != UNSUPPORTED) continue;
    char name[64];
    operator_of(s->results[i].text, name, sizeof name);
    int at = 0;
    while (at < count && strcmp(reasons[at].name, name) != 0) ++at;
    if (at == MAX_REASONS) continue;
    if (at == count) {
      memcpy(reasons[count].name, name, sizeof name);
      reasons[count++].example = s->results[i].text;
    }
    ++reasons[at].count;
  }
  qsort(reasons, (size_t)count, sizeof *reasons, compare_reasons);
  if (count) printf("\nunsupported, by operator:\n");
  for (int i = 0; i < count; ++i)
    printf("  %4d  %-28s %.150s\n", reasons[i].count, reasons[i].name, reasons[i].example);
}

static bool is_expanded(const char *name) { return strstr(name, "_expanded") != NULL; }

static void print_table(const suite *s, int totals[OUTCOME_COUNT]) {
  int by_kind[2][OUTCOME_COUNT] = {0}, by_how[2][HOW_COUNT] = {0}, skipped = 0, on_host = 0, host_steps = 0;
  for (int i = 0; i < s->count; ++i) {
    const result *r = &s->results[i];
    const bool expanded = is_expanded(s->tests[i].name);
    ++totals[r->outcome];
    ++by_kind[expanded][r->outcome];
    skipped += r->reference_skipped;
    on_host += r->host_steps > 0;
    host_steps += r->host_steps;
    if (r->outcome == PASSED) ++by_how[expanded][r->how];
  }
  printf("\n%-22s %9s %9s\n", "", "plain", "_expanded");
  for (int o = 0; o < OUTCOME_COUNT; ++o) printf("%-22s %9d %9d\n", outcome_names[o], by_kind[0][o], by_kind[1][o]);
  printf("of those passed:\n");
  for (int h = 0; h < HOW_COUNT; ++h) printf("  %-20s %9d %9d\n", how_names[h], by_how[0][h], by_how[1][h]);
  if (s->gpu)
    printf("with steps on the host: %d tests, %d steps\n", on_host, host_steps);
  else
    printf("run tuned, but too big to be run by the reference as well: %d\n", skipped);
}

static void print_exceptions(const suite *s) {
  for (int i = 0; i < s->count; ++i)
    if (s->results[i].is_drawn && s->results[i].outcome == PASSED)
      printf("passed by type, shape and range, its outputs being drawn: %s\n", s->tests[i].name);
  for (int i = 0; i < s->count; ++i)
    if (s->results[i].too_exact && s->results[i].outcome == PASSED)
      printf("passed tuned, the reference being too exact: %s: %s\n", s->tests[i].name,
             why_too_exact(s->tests[i].name));
}

int main(int argc, char **argv) {
  static suite s = {.jobs = 2};
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--verbose") == 0)
      s.verbose = true;
    else if (strcmp(argv[i], "--gpu") == 0)
      s.gpu = true;
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      s.only = argv[++i];
    else if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc)
      s.jobs = atoi(argv[++i]);
    else
      s.root = argv[i];
  }
  if (!s.root || s.jobs < 1 || s.jobs > MAX_JOBS) {
    fprintf(stderr, "usage: conformance SUITE [--verbose] [--only PART_OF_A_NAME] [--jobs 1..%d] [--gpu]\n", MAX_JOBS);
    return 2;
  }
  static const char *const folders[] = {"node", "simple", "pytorch-converted", "pytorch-operator", "light"};
  for (size_t f = 0; f < sizeof folders / sizeof *folders; ++f) find_tests(&s, folders[f]);
  qsort(s.tests, (size_t)s.count, sizeof *s.tests, compare_tests);
  run_all(&s);
  int totals[OUTCOME_COUNT] = {0};
  print_table(&s, totals);
  print_reasons(&s);
  print_exceptions(&s);
  printf("conformance: %d passed, %d unsupported, %d failed, %d crashed of %d\n", totals[PASSED], totals[UNSUPPORTED],
         totals[FAILED], totals[CRASHED], s.count);
  return s.count == 0 || totals[FAILED] || totals[CRASHED] ? 1 : 0;
}
