/* SPDX-License-Identifier: Apache-2.0 */
/* test_pipeline.c - graphs of tests/pass/NAME.txt before and after the pipeline, which must also compute the same; and
 * what the pipeline says to wrong names, small limits and a target that refuses.
 *
 * A file: lines "key: value" (after: PASS; disable: NAMES; fired: NAMES; missed: NAME: REASON; and #), then the two
 * graphs, each below a line "--- before" or "--- after". */
#include "unit/pass/pass_support.h"
#include "unit/base/faults.h"
#include <dirent.h>

enum { MOST_WORDS = 8 };

/* One file, cut up in place. */
typedef struct page {
  char *text, *before, *after;
  const char *stop_after, *disable[MOST_WORDS], *fired[MOST_WORDS], *missed[MOST_WORDS], *reason[MOST_WORDS];
  int disable_count, fired_count, missed_count;
} page;

static char *read_whole(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) fail_msg("%s: cannot open", path);
  char *text = calloc(1, 1 << 16);
  assert_non_null(text);
  const size_t length = fread(text, 1, (1 << 16) - 1, file);
  assert_true(length > 0 && length < (1 << 16) - 1);
  fclose(file);
  return text;
}

static int split(char *value, const char **out) {
  int count = 0;
  for (char *word = strtok(value, " "); word && count < MOST_WORDS; word = strtok(NULL, " ")) out[count++] = word;
  return count;
}

static void read_key(page *p, const char *path, char *key) {
  char *value = strchr(key, ':');
  if (*key == '#') return;
  if (!value) fail_msg("%s: no key in \"%s\"", path, key);
  *value++ = 0;
  value += strspn(value, " ");
  if (strcmp(key, "after") == 0) {
    p->stop_after = value;
  } else if (strcmp(key, "disable") == 0) {
    p->disable_count = split(value, p->disable);
  } else if (strcmp(key, "fired") == 0) {
    p->fired_count = split(value, p->fired);
  } else if (strcmp(key, "missed") == 0 && p->missed_count < MOST_WORDS) {
    char *reason = strchr(value, ':');
    if (!reason) fail_msg("%s: missed: %s: no reason", path, value);
    *reason++ = 0;
    p->missed[p->missed_count] = value;
    p->reason[p->missed_count++] = reason + strspn(reason, " ");
  } else {
    fail_msg("%s: no key is named %s", path, key);
  }
}

static void read_page(page *p, const char *path) {
  static const char before[] = "--- before\n", after[] = "--- after\n";
  *p = (page){.text = read_whole(path)};
  p->before = strstr(p->text, before);
  p->after = p->before ? strstr(p->before, after) : NULL;
  if (!p->after) fail_msg("%s: two graphs are wanted", path);
  *p->before = *p->after = 0;
  p->before += sizeof before - 1;
  p->after += sizeof after - 1;
  for (char *line = p->text, *next; *line; line = next) {
    next = line + strcspn(line, "\n");
    if (*next) *next++ = 0;
    if (*line) read_key(p, path, line);
  }
}

static void check_log(const page *p, const bench *b, const char *path) {
  const char *unmet;
  for (int i = 0; i < p->fired_count; ++i)
    if (!bench_fired(b, p->fired[i], &unmet))
      fail_msg("%s: %s did not fire: %s", path, p->fired[i], unmet ? unmet : "no match");
  for (int i = 0; i < p->missed_count; ++i) {
    if (bench_fired(b, p->missed[i], &unmet)) fail_msg("%s: %s fired", path, p->missed[i]);
    if (!unmet || strcmp(unmet, p->reason[i]) != 0)
      fail_msg("%s: %s did not fire for another reason: %s", path, p->missed[i], unmet ? unmet : "no match");
  }
}

/* Parts and all survive a copy. */
static void check_clone(bench *b, const char *want) {
  static const hn_print_options options = {.constant_elements = 8};
  hone_graph *clone;
  hn_text text;
  assert_int_equal(hn_graph_clone(b->graph, &clone), HONE_OK);
  assert_int_equal(hn_graph_verify(clone), HONE_OK);
  hn_text_init(&text, b->context->allocator);
  assert_int_equal(hn_graph_print(clone, &options, &text), HONE_OK);
  assert_string_equal(hn_text_string(&text), want);
  hn_text_deinit(&text);
  hn_graph_destroy(clone);
}

static void check_page(const char *path) {
  static const hn_print_options options = {.constant_elements = 8};
  page p;
  bench b;
  read_page(&p, path);
  bench_parse(&b, p.before, strlen(p.before));
  b.run.disable = p.disable;
  b.run.disable_count = p.disable_count;
  if (hn_pipeline_run(&b.run, p.stop_after) != HONE_OK) fail_msg("%s: %s", path, last_message(&b));
  bench_compare(&b, path);
  check_log(&p, &b, path);
  hn_text text;
  hn_text_init(&text, b.context->allocator);
  assert_int_equal(hn_graph_print(b.graph, &options, &text), HONE_OK);
  if (strcmp(hn_text_string(&text), p.after) != 0) {
    fprintf(stderr, "%s: now it is\n%s", path, hn_text_string(&text)); /* fail_msg cuts it off */
    fail_msg("%s: the graph is another than below \"after\"", path);
  }
  check_clone(&b, hn_text_string(&text));
  hn_text_deinit(&text);
  bench_end(&b);
  free(p.text);
}

static void test_pages(void **state) {
  (void)state;
  char path[512];
  int count = 0;
  const char *tests = getenv("HONE_TESTS_DIR");
  snprintf(path, sizeof path, "%s/pass", tests ? tests : "tests");
  DIR *folder = opendir(path);
  if (!folder) fail_msg("%s: no such folder", path);
  for (const struct dirent *entry; (entry = readdir(folder));) {
    const char *end = strrchr(entry->d_name, '.');
    if (!end || strcmp(end, ".txt") != 0) continue;
    snprintf(path, sizeof path, "%s/pass/%.200s", tests ? tests : "tests", entry->d_name);
    check_page(path);
    ++count;
  }
  closedir(folder);
  assert_true(count >= 10);
}

static const char conv_relu[] = "graph \"g\" opset 17 {\n in %x: f32[1,2,4,4]\n const %w: f32[3,2,1,1] = random 1\n"
                                " %c = conv(%x, %w)\n %r = relu(%c)\n out %r\n}\n";

static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *disable, *after, *says;
  } rows[] = {
      {"fuse_convs", NULL, "no pass or rule is named \"fuse_convs\"; near it: fuse_conv"},
      {"relu_into_cnv", NULL, "relu_into_conv"},
      {"zzzzzzzzzzzz", NULL, "no pass or rule is named \"zzzzzzzzzzzz\""},
      {NULL, "relu_into_conv", "no pass is named \"relu_into_conv\""},
      {NULL, "fold", "near it: fold_shapes, fold_branches, fold_constants"},
      {"own_outputs", NULL, "own_outputs cannot be disabled"},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    bench b;
    bench_parse(&b, conv_relu, strlen(conv_relu));
    b.run.disable = &rows[i].disable;
    b.run.disable_count = rows[i].disable != NULL;
    assert_int_equal(hn_pipeline_run(&b.run, rows[i].after), HONE_INVALID);
    if (!strstr(last_message(&b), rows[i].says)) fail_msg("row %zu says %s", i, last_message(&b));
    bench_end(&b);
  }
}

/* What a device and the host take. */
typedef struct asked {
  const char *away, *host; /* words: ops, "op/act" with an activation */
  int count;
} asked;

static bool listed(const char *words, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = words; (at = strstr(at, name)); at += length)
    if ((at == words || at[-1] == ' ') && (at[length] == 0 || at[length] == ' ')) return true;
  return false;
}

static hn_reach reach(void *user, const hone_op *op, const hone_attrs *attrs, const hone_fact *in, int in_count,
                      const hone_fact *out, int out_count) {
  (void)in, (void)in_count, (void)out, (void)out_count;
  asked *a = user;
  char name[64];
  const bool acts = hn_attr_has(attrs, "act") && hn_attr_text(attrs, "act")[0];
  snprintf(name, sizeof name, "%s%s%s", op->name, acts ? "/" : "", acts ? hn_attr_text(attrs, "act") : "");
  ++a->count;
  return listed(a->away, name) ? HN_REACH_AWAY : listed(a->host, name) ? HN_REACH_HOST : HN_REACH_NONE;
}

static const char two_relus[] =
    "graph \"g\" opset 17 {\n in %x: f32[1,2,4,4]\n %r = relu(%x)\n %s = neg(%r)\n out %s\n}\n";

static void test_target(void **state) {
  static const struct {
    const char *graph, *away, *host, *rule, *unmet;
  } rows[] = {
      {conv_relu, "", "conv relu", "relu_into_conv", "no device has a kernel for the fused form"},
      {conv_relu, "", "conv conv/relu relu", "relu_into_conv", NULL},
      {conv_relu, "conv/relu conv relu", "", "relu_into_conv", NULL},
      /* the host has to run the convolution, so that it keeps what follows */
      {conv_relu, "relu", "conv conv/relu relu", "relu_into_conv", NULL},
      {conv_relu, "relu conv", "conv conv/relu relu", "relu_into_conv",
       "only the host has a kernel for the fused form, and a part would run elsewhere"},
      {two_relus, "relu neg", "relu neg fused", "group_elementwise",
       "only the host has a kernel for the fused form, and all parts would run elsewhere"},
      {two_relus, "relu", "relu neg fused", "group_elementwise", NULL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    bench b;
    asked a = {.away = rows[i].away, .host = rows[i].host};
    const char *unmet = NULL;
    const hn_target target = {&a, reach};
    bench_parse(&b, rows[i].graph, strlen(rows[i].graph));
    b.run.target = &target;
    assert_int_equal(hn_pipeline_run(&b.run, NULL), HONE_OK);
    bench_compare(&b, "with devices");
    assert_int_equal(bench_fired(&b, rows[i].rule, &unmet), rows[i].unmet == NULL);
    if (rows[i].unmet) assert_string_equal(unmet, rows[i].unmet);
    assert_true(a.count > 0);
    bench_end(&b);
  }
}

static void test_disabled_rule(void **state) {
  (void)state;
  bench b;
  const char *unmet, *const disable[] = {"relu_into_conv"};
  bench_parse(&b, conv_relu, strlen(conv_relu));
  b.run.disable = disable;
  b.run.disable_count = 1;
  assert_int_equal(hn_pipeline_run(&b.run, NULL), HONE_OK);
  assert_false(bench_fired(&b, "relu_into_conv", &unmet));
  assert_null(unmet);
  assert_int_equal(bench_count(&b, "relu"), 1);
  bench_end(&b);
}

/* A near miss is told once, though its pass stands in the list twice, and not at all when the node went another way. */
static void test_settled_log(void **state) {
  (void)state;
  static const char text[] = "graph \"g\" opset 17 {\n in %x: f32[1,2,4,4]\n const %w: f32[3,2,1,1] = random 1\n"
                             " %c = conv(%x, %w)\n %r = relu(%c)\n %s = sigmoid(%r)\n out %c\n out %s\n}\n";
  int missed = 0, grouped = 0;
  bench b;
  bench_parse(&b, text, strlen(text));
  assert_int_equal(hn_pipeline_run(&b.run, NULL), HONE_OK);
  for (int i = 0; i < b.log.count; ++i) {
    const hn_pass_event *event = &b.log.events[i];
    missed += !event->fired && strcmp(event->rule, "relu_into_conv") == 0;
    grouped += event->fired && strcmp(event->rule, "group_elementwise") == 0;
    if (!event->fired) assert_non_null(event->unmet);
  }
  assert_int_equal(missed, 1); /* the group holds the node that it was said of */
  assert_int_equal(grouped, 1);
  bench_end(&b);
  bench_parse(&b, conv_relu, strlen(conv_relu));
  assert_int_equal(hn_pass_log_add(&b.log, "fuse_conv", "relu_into_conv", "gone", "a reason"), true);
  assert_int_equal(hn_pipeline_run(&b.run, NULL), HONE_OK);
  for (int i = 0; i < b.log.count; ++i) assert_true(b.log.events[i].fired);
  bench_end(&b);
}

/* ---- the engine's own rules ---- */

static const hn_rewrite endless[] = {{.name = "to", .find = "relu(x)", .put = "abs(x)", .why = "to and fro"},
                                     {.name = "fro", .find = "abs(x)", .put = "relu(x)", .why = "to and fro"},
                                     {0}};
static const hn_rewrite wrong_text[] = {{.name = "wrong", .find = "relu(x", .put = "x", .why = ""}, {0}};
static const hn_rewrite wrong_op[] = {{.name = "wrong", .find = "relou(x)", .put = "x", .why = ""}, {0}};
static const hn_rewrite wrong_put[] = {{.name = "wrong", .find = "relu(x)", .put = "relu[beta=1](x)", .why = ""}, {0}};

static void test_bounds(void **state) {
  (void)state;
  static const struct {
    const hn_rewrite *rules;
    hone_status want;
  } rows[] = {{endless, HONE_LIMIT}, {wrong_op, HONE_INTERNAL}, {wrong_put, HONE_INTERNAL}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    bench b;
    bench_parse(&b, conv_relu, strlen(conv_relu));
    assert_int_equal(hn_rewrite_run(&b.run, rows[i].rules, true, "test"), rows[i].want);
    assert_true(b.context->diag.count > 0);
    bench_end(&b);
  }
  bench b;
  bench_parse(&b, conv_relu, strlen(conv_relu));
  assert_true(hn_rewrite_run(&b.run, wrong_text, true, "test") != HONE_OK);
  bench_end(&b);
}

static const hn_rewrite siblings[] = {{.name = "siblings",
                                       .find = "(linear(x, w:const), linear(x, v:const))",
                                       .put = "(linear[act=\"\"](x, w), matmul(x, v))",
                                       .why = "two roots are replaced together"},
                                      {0}};

static void test_several_roots(void **state) {
  (void)state;
  static const char two[] = "graph \"g\" opset 17 {\n in %x: f32[3,4]\n const %w: f32[4,5] = random 1\n"
                            " const %v: f32[4,2] = random 2\n %a = linear(%x, %w)\n %m = relu(%a)\n"
                            " %b = linear(%x, %v)\n %n = relu(%b)\n out %m\n out %n\n}\n";
  static const char dependent[] = "graph \"g\" opset 17 {\n in %x: f32[4,4]\n const %w: f32[4,4] = random 1\n"
                                  " const %v: f32[4,4] = random 2\n %a = linear(%x, %w)\n %c = matmul(%a, %v)\n"
                                  " %d = linear(%c, %w)\n out %d\n}\n";
  const char *unmet;
  bench b;
  bench_parse(&b, two, strlen(two));
  assert_int_equal(hn_rewrite_run(&b.run, siblings, false, "test"), HONE_OK);
  assert_true(bench_fired(&b, "siblings", &unmet));
  assert_int_equal(bench_count(&b, "matmul"), 1);
  bench_compare(&b, "two roots");
  bench_end(&b);
  bench_parse(&b, dependent, strlen(dependent));
  assert_int_equal(hn_rewrite_run(&b.run, siblings, false, "test"), HONE_OK);
  assert_false(bench_fired(&b, "siblings", &unmet));
  bench_end(&b);
}

/* Rules, folding, views and dead code reach into blocks. */
static void test_blocks(void **state) {
  (void)state;
  static const char text[] =
      "graph \"g\" opset 17 {\n in %c: bool[]\n in %x: f32[1,2,4,4]\n const %w: f32[3,2,1,1] = random 1\n"
      " const %one: f32[] = [1]\n %r = if(%c, %x)\n"
      "  (%a: f32[1,2,4,4]) {\n %i = identity(%a)\n %d = conv(%i, %w)\n %e = relu(%d)\n yield %e\n }\n"
      "  (%b: f32[1,2,4,4]) {\n %s = add(%one, %one)\n %m = mul(%w, %s)\n %f = conv(%b, %m)\n yield %f\n }\n"
      " out %r\n}\n";
  bench b;
  const char *unmet;
  bench_begin(&b);
  if (hn_graph_parse(b.context, text, strlen(text), NULL, 0, &b.graph) != HONE_OK) fail_msg("%s", last_message(&b));
  b.run = (hn_pass_run){.context = b.context, .graph = b.graph, .log = &b.log};
  if (hn_pipeline_run(&b.run, NULL) != HONE_OK) fail_msg("%s", last_message(&b));
  assert_int_equal(hn_graph_verify(b.graph), HONE_OK);
  assert_true(bench_fired(&b, "relu_into_conv", &unmet));
  assert_int_equal(hn_graph_node_count(b.graph), 3);
  bench_end(&b);
}

/* A branch on an extent that is known, one inside the block that is taken, and one that only the input decides: the
 * last alone is left, and of the block not taken even what does not fit the shapes does no harm. */
static void test_known_branches(void **state) {
  (void)state;
  static const char text[] =
      "graph \"g\" opset 17 {\n in %x: f32[N,1,4]\n in %ask: bool[]\n const %one: i64[] = [1]\n"
      " const %axis: i64[1] = [1]\n %shape = shape(%x)\n %extent = gather(%shape, %one)\n"
      " %same = equal(%extent, %one)\n %y = if(%same, %x)\n"
      "  (%a: f32[N,1,4]) {\n %s = squeeze(%a, %axis)\n %rank = shape(%s)\n %count = size(%rank)\n"
      "   %wrong = equal(%count, %one)\n %t = if(%wrong, %s)\n"
      "    (%b: f32[N,4]) {\n %u = neg(%b)\n yield %u\n }\n"
      "    (%c: f32[N,4]) {\n %v = relu(%c)\n yield %v\n }\n   yield %t\n }\n"
      "  (%d: f32[N,1,4]) {\n %h = identity(%d)\n yield %h\n }\n"
      " %w = exp(%y)\n"
      " %z = if(%ask, %x)\n  (%e: f32[N,1,4]) {\n %p = exp(%e)\n yield %p\n }\n"
      "  (%f: f32[N,1,4]) {\n yield %f\n }\n out %w\n out %z\n}\n";
  bench b;
  const char *unmet;
  bench_begin(&b);
  if (hn_graph_parse(b.context, text, strlen(text), NULL, 0, &b.graph) != HONE_OK) fail_msg("%s", last_message(&b));
  b.run = (hn_pass_run){.context = b.context, .graph = b.graph, .log = &b.log};
  if (hn_pipeline_run(&b.run, "merge_common") != HONE_OK) fail_msg("%s", last_message(&b));
  assert_int_equal(hn_graph_verify(b.graph), HONE_OK);
  assert_true(bench_fired(&b, "fold_branches", &unmet));
  assert_int_equal(bench_count(&b, "if"), 1);
  assert_int_equal(bench_count(&b, "relu"), 1);
  assert_int_equal(bench_count(&b, "neg"), 0);
  assert_int_equal(b.graph->main->results[0]->fact.type.shape.rank, 2);
  bench_end(&b);
}

/* Pads that are reals at first decide what is padded once they are folded, and so the numbers read off its shape. */
static void test_late_extents(void **state) {
  (void)state;
  static const char text[] =
      "graph \"g\" opset 17 {\n in %x: f32[N,2,4,4]\n const %half: f32[8] = [0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5]\n"
      " const %two: f32[] = [2]\n const %last: i64[] = [3]\n const %first: i64[1] = [0]\n const %rest: i64[1] = [-1]\n"
      " %f = mul(%half, %two)\n %p = cast(%f) [to=7]\n %y = pad(%x, %p)\n %r = relu(%y)\n %s = shape(%r)\n"
      " %n = gather(%s, %last)\n %u = unsqueeze(%n, %first)\n %c = concat(%rest, %u) [axis=0]\n"
      " %z = reshape(%r, %c)\n out %z\n}\n";
  bench b;
  bench_begin(&b);
  if (hn_graph_parse(b.context, text, strlen(text), NULL, 0, &b.graph) != HONE_OK) fail_msg("%s", last_message(&b));
  b.run = (hn_pass_run){.context = b.context, .graph = b.graph, .log = &b.log};
  if (hn_pipeline_run(&b.run, "merge_common") != HONE_OK) fail_msg("%s", last_message(&b));
  assert_int_equal(hn_graph_verify(b.graph), HONE_OK);
  assert_int_equal(bench_count(&b, "gather"), 0);
  assert_int_equal(bench_count(&b, "reshape"), 0);
  assert_int_equal(b.graph->main->results[0]->fact.type.shape.rank, 2);
  assert_int_equal(b.graph->main->results[0]->fact.type.shape.dim[1], 6);
  bench_end(&b);
}

/* ---- memory ---- */

static const char everything[] =
    "graph \"g\" opset 17 {\n in %x: f32[N,2,4,4]\n const %w: f32[3,2,1,1] = random 1\n const %s: f32[3] = random 2\n"
    " const %v: f32[3] = splat 0.5\n const %k: f32[3] = random 3\n const %l: f32[48,2] = random 4\n"
    " const %d: i64[2] = [-1, 48]\n %c = conv(%x, %w)\n %n = batch_norm(%c, %s, %s, %s, %v)\n"
    " %t = transpose(%n) [perm=[0,2,3,1]]\n %a = add(%t, %k)\n %r = relu(%a)\n"
    " %u = transpose(%r) [perm=[0,3,1,2]]\n %e = exp(%u)\n %h = tanh(%e)\n %f = reshape(%h, %d)\n"
    " %y = matmul(%f, %l)\n %i = identity(%y)\n out %i\n out %f\n}\n";

/* The pipeline over that graph with the at-th allocation failing; the allocations that it made. */
static hone_status run_with_fault(long at, long *out_calls) {
  faults f = {.countdown = -1};
  const hone_context_options options = {.struct_size = sizeof options, .resize = faults_resize, .resize_user = &f};
  hone_context *context;
  hone_graph *graph;
  hn_arena arena;
  assert_int_equal(hone_context_create(&options, &context), HONE_OK);
  assert_int_equal(hn_graph_parse(context, everything, strlen(everything), NULL, 0, &graph), HONE_OK);
  hn_arena_init(&arena, context->allocator);
  hn_pass_log log = {.arena = &arena};
  hn_pass_run run = {.context = context, .graph = graph, .log = &log};
  f.countdown = at;
  const long before = f.calls;
  const hone_status status = hn_pipeline_run(&run, NULL);
  f.countdown = -1;
  *out_calls = f.calls - before;
  assert_true((status == HONE_OK) == (context->diag.count == 0));
  hn_arena_deinit(&arena);
  hn_graph_destroy(graph);
  hone_context_destroy(context);
  assert_int_equal(f.live, 0);
  return status;
}

static void test_faults(void **state) {
  (void)state;
  long calls, count = 0;
  assert_int_equal(run_with_fault(-1, &calls), HONE_OK);
  for (long at = 0; at < calls; ++at) {
    long made;
    const hone_status status = run_with_fault(at, &made);
    if (status != HONE_OK) assert_int_equal(status, HONE_NO_MEMORY);
    count += status != HONE_OK;
  }
  assert_true(count > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pages),          cmocka_unit_test(test_names),         cmocka_unit_test(test_target),
      cmocka_unit_test(test_settled_log),    cmocka_unit_test(test_disabled_rule), cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_several_roots),  cmocka_unit_test(test_faults),        cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_known_branches), cmocka_unit_test(test_late_extents)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
