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

static char warned[512];

static void keep_warning(void *user, hone_log_level level, const char *line) {
  (void)user;
  if (level == HONE_LOG_WARN) snprintf(warned, sizeof warned, "%s", line);
}

/* Tunes one layer with this file as its cache; the build goes on in any case. */
static void tune_beside(const char *name) {
  tuning_case t;
  case_begin(&t, ONE_RELU);
  fake[RELU_A].plain_ns = 90e3;
  t.context->logger.log = keep_warning;
  t.context->logger.level = HONE_LOG_WARN;
  warned[0] = 0;
  const hone_build_options options = with_cache(name);
  case_tune_ok(&t, &options);
  case_end(&t);
}

static hone_status merge(hone_context *context, const char *from, const char *to) {
  const char *paths[] = {in_folder(from)};
  return hn_timing_cache_merge(context, paths, 1, in_folder(to));
}

/* Files that are no timing caches, or of another version: a build warns and leaves them alone, merging refuses. */
static void test_left_aside(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } rows[] = {{"something else\n", "not a timing cache"},
              {"# hone timing cache 1\nkey\t5 5 5 1\n", "version 1"},
              {"# hone timing cache 7\n", "version 7"}};
  static char text[TEXT_ROOM];
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    write_text("bad", rows[i].text);
    tune_beside("bad");
    if (!strstr(warned, rows[i].says) || !strstr(warned, "bad")) fail_msg("%s", warned);
    read_text("bad", text);
    assert_string_equal(text, rows[i].text);
    assert_int_equal(merge(context, "bad", "merged"), HONE_INVALID);
    assert_non_null(strstr(context->diag.entries[i].text, rows[i].says));
  }
  hone_context_destroy(context);
}

/* Lines of a key and a number of runs, as a build saves them. */
static void save_lines(hone_context *context, const char *name, const char *const *keys, const int *runs, int count) {
  hn_arena arena;
  hn_timing_cache *cache;
  hn_arena_init(&arena, context->allocator);
  assert_int_equal(hn_timing_cache_open(context, &arena, in_folder(name), &cache), HONE_OK);
  for (int i = 0; i < count; ++i) {
    const hn_candidate timed = {.time_ns = 5 + i, .time_low_ns = 5, .time_high_ns = 8, .runs = runs[i]};
    assert_int_equal(hn_timing_cache_put(cache, keys[i], &timed), HONE_OK);
  }
  assert_int_equal(hn_timing_cache_save(context, cache), HONE_OK);
  hn_arena_deinit(&arena);
}

/* Every changed byte of a line is noticed; the good lines stay, and the next build warns no more. */
static void test_damaged_lines(void **state) {
  (void)state;
  static char whole[TEXT_ROOM], damaged[TEXT_ROOM];
  static const char *const keys[] = {"one", "two"};
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  save_lines(context, "whole", keys, (const int[]){3, 9}, 2);
  const size_t length = read_text("whole", whole);
  const size_t begin = (size_t)(strchr(whole, '\n') + 1 - whole);
  int number = 0;
  const size_t end = (size_t)(strchr(whole + begin, '\n') - whole);
  for (size_t at = begin; at < end; at += 3, ++number) {
    memcpy(damaged, whole, length + 1);
    damaged[at] = (char)(damaged[at] == '7' ? '8' : '7');
    write_text("damaged", damaged);
    assert_int_equal(merge(context, "damaged", "merged"), HONE_INVALID);
    if (!strstr(context->diag.entries[0].text, ":2: not a line")) fail_msg("%s", context->diag.entries[0].text);
    hn_diag_clear(&context->diag);
    if (number % 8) continue;
    tune_beside("damaged");
    if (!strstr(warned, "1 of 2 lines are damaged")) fail_msg("byte %zu: \"%s\"", at, warned);
    assert_int_equal(lines_of("damaged"), 2); /* the good line, and one that was measured */
    tune_beside("damaged");
    assert_string_equal(warned, "");
  }
  assert_true(number > 8);
  hone_context_destroy(context);
}

static void test_merge(void **state) {
  (void)state;
  static char text[TEXT_ROOM];
  static const char *const first[] = {"one", "two"}, *const second[] = {"two", "three"};
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  save_lines(context, "a", first, (const int[]){3, 9}, 2);
  save_lines(context, "b", second, (const int[]){3, 3}, 2);
  const char *paths[] = {in_folder("a"), in_folder("b")};
  assert_int_equal(hn_timing_cache_merge(context, paths, 2, in_folder("c")), HONE_OK);
  read_text("c", text);
  assert_int_equal(lines_of("c"), 3);
  assert_non_null(strstr(text, "\none\t5.0 5.0 8.0 3\t"));
  assert_non_null(strstr(text, "\nthree\t6.0 5.0 8.0 3\t"));
  assert_non_null(strstr(text, "\ntwo\t6.0 5.0 8.0 9\t")); /* the one of more runs */
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
  static const char *const names[] = {"times", "bad", "merged", "whole", "damaged", "a", "b", "c", "d", "shared"};
  for (size_t i = 0; i < HN_COUNT(names); ++i) unlink(in_folder(names[i]));
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_found_again), cmocka_unit_test(test_left_aside),   cmocka_unit_test(test_damaged_lines),
      cmocka_unit_test(test_merge),       cmocka_unit_test(test_side_by_side),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
