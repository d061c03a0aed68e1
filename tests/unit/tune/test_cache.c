/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache.c - the timing cache as a file: what is found again, what is merged, what is refused. */
#include "fake_device.h"
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_ROOM = 1 << 16 };
static char folder[] = "/tmp/hone_times_XXXXXX";

static const char *in_folder(const char *name) {
  static char paths[4][256];
  static int at;
  char *path = paths[at++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static size_t read_text(const char *name, char *out) {
  FILE *file = fopen(in_folder(name), "rb");
  if (!file) return 0;
  const size_t count = fread(out, 1, TEXT_ROOM - 1, file);
  fclose(file);
  out[count] = 0;
  return count;
}

static void write_text(const char *name, const char *text) {
  FILE *file = fopen(in_folder(name), "wb");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static int lines_of(const char *name) {
  static char text[TEXT_ROOM];
  int count = 0;
  read_text(name, text);
  for (const char *at = text; (at = strchr(at, '\n')); ++at) ++count;
  return count - 1; /* without the head */
}

static hone_build_options with_cache(const char *name) {
  return (hone_build_options){
      .struct_size = sizeof(hone_build_options), .level = 1, .timing_cache_path = in_folder(name)};
}

static void test_found_again(void **state) {
  (void)state;
  tuning_case t;
  case_begin(&t, ONE_RELU);
  fake[RELU_A].plain_ns = 90e3;
  fake[RELU_B].plain_ns = 40e3;
  hone_build_options options = with_cache("times");
  options.timing_cache_only = true;
  assert_int_equal(case_tune(&t, &options), HONE_UNSUPPORTED);
  assert_non_null(strstr(t.context->diag.entries[0].text, "does not hold node r"));
  options.timing_cache_only = false;
  case_tune_ok(&t, &options);
  assert_int_equal(lines_of("times"), 2);
  const int launches = fake[RELU_B].launches;
  options.timing_cache_only = true;
  case_tune_ok(&t, &options);
  assert_int_equal(fake[RELU_B].launches, launches + 1); /* its error */
  assert_string_equal(chosen_of(&t, "r")->tactic->name, "fake.relu.b");
  assert_true(chosen_of(&t, "r")->from_cache && chosen_of(&t, "r")->time_ns == 40e3);
  case_end(&t);
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } rows[] = {{"something else\n", "not a timing cache"},
              {"# hone timing cache 2\n", "version 2"},
              {"# hone timing cache 1\nkey 1 2 3\n", ":2: not a line"},
              {"# hone timing cache 1\nkey\t5 5 5 1\nkey\t5 x\n", ":3: not a line"},
              {"# hone timing cache 1\nkey\t-5 -5 5 1\n", ":2: not a line"},
              {"# hone timing cache 1\nkey\t5 5 5 1 7\n", ":2: not a line"},
              {"# hone timing cache 1\nkey\tnan 5 5 1\n", ":2: not a line"}};
  static char text[TEXT_ROOM];
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    tuning_case t;
    write_text("bad", rows[i].text);
    case_begin(&t, ONE_RELU);
    fake[RELU_A].plain_ns = 90e3;
    const hone_build_options options = with_cache("bad");
    assert_int_equal(case_tune(&t, &options), HONE_INVALID);
    const char *said = t.context->diag.entries[0].text;
    if (!strstr(said, rows[i].says) || !strstr(said, "bad")) fail_msg("%s", said);
    read_text("bad", text);
    assert_string_equal(text, rows[i].text);
    case_end(&t);
  }
}

static void test_merge(void **state) {
  (void)state;
  static char text[TEXT_ROOM];
  write_text("a", "# hone timing cache 1\none\t5.0 5.0 5.0 3\ntwo\t7.0 6.0 8.0 9\n");
  write_text("b", "# hone timing cache 1\ntwo\t1.0 1.0 1.0 3\nthree\t2.0 2.0 2.0 3\n");
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  const char *paths[] = {in_folder("a"), in_folder("b")};
  assert_int_equal(hn_timing_cache_merge(context, paths, 2, in_folder("c")), HONE_OK);
  read_text("c", text);
  assert_string_equal(text, "# hone timing cache 1\none\t5.0 5.0 5.0 3\nthree\t2.0 2.0 2.0 3\ntwo\t7.0 6.0 8.0 9\n");
  const char *absent[] = {in_folder("a"), in_folder("absent")};
  assert_int_equal(hn_timing_cache_merge(context, absent, 2, in_folder("d")), HONE_IO);
  assert_int_equal(read_text("d", text), 0);
  hone_context_destroy(context);
}

/* Caches that were opened before the others were saved: every line is there in the end. */
enum { THREADS = 6, EACH = 40 };

static char shared_path[256];

static void *add_lines(void *arg) {
  const int number = *(const int *)arg;
  hone_context *context;
  if (hone_context_create(NULL, &context) != HONE_OK) return "no context";
  hn_arena arena;
  hn_arena_init(&arena, context->allocator);
  for (int i = 0; i < EACH; ++i) {
    hn_timing_cache *cache;
    char key[32];
    snprintf(key, sizeof key, "thread%d_%d", number, i);
    const hn_candidate timed = {.time_ns = 5, .time_low_ns = 5, .time_high_ns = 5, .runs = 1};
    if (hn_timing_cache_open(context, &arena, shared_path, &cache) != HONE_OK ||
        hn_timing_cache_put(cache, key, &timed) != HONE_OK || hn_timing_cache_save(context, cache) != HONE_OK)
      return "a save failed";
  }
  hn_arena_deinit(&arena);
  hone_context_destroy(context);
  return NULL;
}

static void test_side_by_side(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  int numbers[THREADS];
  snprintf(shared_path, sizeof shared_path, "%s", in_folder("shared"));
  for (int i = 0; i < THREADS; ++i) {
    numbers[i] = i;
    assert_int_equal(pthread_create(&threads[i], NULL, add_lines, &numbers[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) {
    void *problem;
    pthread_join(threads[i], &problem);
    if (problem) fail_msg("%s", (const char *)problem);
  }
  assert_int_equal(lines_of("shared"), THREADS * EACH);
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  static const char *const names[] = {"times", "bad", "a", "b", "c", "d", "shared"};
  for (size_t i = 0; i < HN_COUNT(names); ++i) unlink(in_folder(names[i]));
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_found_again),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_merge),
      cmocka_unit_test(test_side_by_side),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
