/* SPDX-License-Identifier: Apache-2.0 */
/* test_peaks.c - chips on paper against the numbers that their vendors state, wrong rows of chips, and the file of
 * measured roofs. */
#include "report/peaks.h"
#include <hone/device.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static hn_arena arena;
static hone_diagnostics diag;
static hn_diag_entry entries[4];

static int setup(void **state) {
  (void)state;
  hn_arena_init(&arena, hn_allocator_default());
  hn_diag_init(&diag, entries, 4);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  hn_arena_deinit(&arena);
  return 0;
}

static void near_by(const char *what, double got, double want, double share) {
  if (!(fabs(got - want) <= share * want)) fail_msg("%s: %g, want %g", what, got, want);
}

/* T: 10^12 operations a second. */
static void test_stated_peaks(void **state) {
  (void)state;
  static const struct {
    const char *chip;
    hn_chip_path path;
    hn_chip_type type;
    double tera;
  } rows[] = {{"A100", HN_CHIP_PLAIN, HN_CHIP_F64, 9.7},         {"A100", HN_CHIP_PLAIN, HN_CHIP_F32, 19.5},
              {"A100", HN_CHIP_PLAIN, HN_CHIP_F16, 78},          {"A100", HN_CHIP_MATRIX, HN_CHIP_F16, 312},
              {"A100", HN_CHIP_MATRIX, HN_CHIP_TF32, 156},       {"A100", HN_CHIP_MATRIX, HN_CHIP_INT8, 624},
              {"A100", HN_CHIP_SPARSE, HN_CHIP_INT8, 1248},      {"H100 SXM", HN_CHIP_PLAIN, HN_CHIP_F32, 66.9},
              {"H100 SXM", HN_CHIP_MATRIX, HN_CHIP_F64, 66.9},   {"H100 SXM", HN_CHIP_MATRIX, HN_CHIP_BF16, 989.4},
              {"H100 SXM", HN_CHIP_MATRIX, HN_CHIP_FP8, 1978.9}, {"H100 PCIe", HN_CHIP_MATRIX, HN_CHIP_F16, 756},
              {"H200", HN_CHIP_MATRIX, HN_CHIP_TF32, 494.7},     {"V100", HN_CHIP_MATRIX, HN_CHIP_F16, 125},
              {"T4", HN_CHIP_MATRIX, HN_CHIP_INT8, 130},         {"A10", HN_CHIP_PLAIN, HN_CHIP_F32, 31.2},
              {"L4", HN_CHIP_PLAIN, HN_CHIP_F32, 30.3},          {"L40S", HN_CHIP_MATRIX, HN_CHIP_FP8, 733},
              {"RTX 2080 Ti", HN_CHIP_PLAIN, HN_CHIP_F32, 13.4}, {"RTX 3080", HN_CHIP_PLAIN, HN_CHIP_F32, 29.8},
              {"RTX 3090", HN_CHIP_PLAIN, HN_CHIP_F32, 35.6},    {"RTX 4090", HN_CHIP_PLAIN, HN_CHIP_F32, 82.6},
              {"RTX 6000", HN_CHIP_PLAIN, HN_CHIP_F32, 16.3},    {"Orin", HN_CHIP_PLAIN, HN_CHIP_F32, 5.3},
              {"Nano", HN_CHIP_PLAIN, HN_CHIP_F16, 0.472},       {"i7-5960X", HN_CHIP_PLAIN, HN_CHIP_F64, 0.384},
              {"i7-5960X", HN_CHIP_PLAIN, HN_CHIP_F32, 0.768},   {"8480+", HN_CHIP_MATRIX, HN_CHIP_BF16, 114.7},
              {"i9-13900K", HN_CHIP_PLAIN, HN_CHIP_F64, 0.6656}};
  hn_chips chips = {0};
  assert_int_equal(hn_chips_builtin(&arena, &diag, &chips), HONE_OK);
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const hn_chip *chip = hn_chips_find(&chips, rows[i].chip);
    assert_non_null(chip);
    near_by(rows[i].chip, hn_chip_peak(chip, rows[i].path, rows[i].type), rows[i].tera * 1e12, 0.01);
  }
}

static void test_memory_and_ridges(void **state) {
  (void)state;
  static const struct {
    const char *chip;
    double gigabytes, ridge; /* ridge: of f32; 0: not asked */
  } rows[] = {{"Xeon Gold 6148", 128, 0}, {"RTX 6000", 672, 0}, {"RTX 3080", 760, 39.2},
              {"xavier", 137, 10.2},      {"H200", 4800, 0},    {"A100", 1555, 0},
              {"V100", 900, 0},           {"L4", 300, 0},       {"Sapphire Rapids", 307.2, 0},
              {"EPYC 9654", 460.8, 0}};
  hn_chips chips = {0};
  assert_int_equal(hn_chips_builtin(&arena, &diag, &chips), HONE_OK);
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const hn_chip *chip = hn_chips_find(&chips, rows[i].chip);
    assert_non_null(chip);
    near_by(rows[i].chip, hn_chip_bandwidth(chip), rows[i].gigabytes * 1e9, 0.01);
    if (rows[i].ridge > 0)
      near_by(rows[i].chip, hn_chip_peak(chip, HN_CHIP_PLAIN, HN_CHIP_F32) / hn_chip_bandwidth(chip), rows[i].ridge,
              0.01);
  }
}

/* No two built-in chips answer to one name, which each row alone cannot see. */
static void test_builtin_names(void **state) {
  (void)state;
  hn_text all;
  hn_chips chips = {0};
  hn_text_init(&all, hn_allocator_default());
  for (const char *const *row = hn_chip_rows; *row; ++row) hn_text_add(&all, *row);
  const hone_status status = hn_chips_read(&arena, &diag, "all", hn_text_string(&all), all.length, &chips);
  if (status != HONE_OK) fail_msg("%s", diag.entries[0].text);
  hn_text_deinit(&all);
}

static void test_terms(void **state) {
  (void)state;
  hn_chips chips = {0};
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  assert_int_equal(hn_chips_builtin(&arena, &diag, &chips), HONE_OK);
  hn_chip_terms(hn_chips_find(&chips, "a100"), HN_CHIP_PLAIN, HN_CHIP_F64, &text);
  assert_string_equal(hn_text_string(&text), "1.41 GHz x 108 SMs x 32 FMA x 2");
  hn_text_clear(&text);
  hn_chip_terms(hn_chips_find(&chips, "core i9 13900k"), HN_CHIP_PLAIN, HN_CHIP_F64, &text);
  assert_string_equal(hn_text_string(&text), "3 GHz x 8 P-cores x 2 ports x 4 lanes x 2 + 2.2 GHz x 16 E-cores x 2 "
                                             "ports x 2 lanes x 2");
  hn_text_clear(&text);
  hn_chip_memory_terms(hn_chips_find(&chips, "xeon gold 6148"), &text);
  assert_string_equal(hn_text_string(&text), "6 channels x 64 bits x 2.666 GT/s / 8");
  hn_text_deinit(&text);
}

#define BASE "chip: x\nunits: 2 cores\nclock: 1\nmemory: 64 x 1\n"

static void test_wrong_rows(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } rows[] = {
      {"", "f: there is no chip: NAME in it"},
      {"# nothing\n\n", "f: there is no chip"},
      {"hello\n", "f:1: expected FIELD: VALUE, not \"hello\""},
      {"clock: 1\n", "f:1: clock stands before the first chip"},
      {"chip: x\nclok: 1\n", "f:2: there is no field clok; did you mean clock?"},
      {"chip: \n", "f:1: chip: a name of 1 to 64"},
      {"chip: --\n", "f:1: chip: a name"},
      {"chip: x\n", "f:1: chip x: the field units is missing"},
      {"chip: x\nunits: 2\nclock: 1\n", "f:1: chip x: the field memory is missing"},
      {"chip: x\nclock: 99\n", "f:2: clock is 99; allowed: 0.01 to 20"},
      {"chip: x\nclock: -1\n", "f:2: clock is -1; allowed"},
      {"chip: x\nclock: nan\n", "f:2: clock: a number is expected at \"nan\""},
      {"chip: x\nclock: 1e999\n", "f:2: clock is 1e999; allowed"},
      {"chip: x\nclock: 1 GHz\n", "f:2: clock: \"GHz\" is left over"},
      {"chip: x\nclock: 1+2+3\n", "f:2: clock: at most 2 kinds"},
      {"chip: x\nunits: 0 SMs\n", "f:2: units is 0; allowed: 1 to"},
      {"chip: x\nunits: 1 a + 1 b + 1 c\n", "f:2: units: at most 2 kinds"},
      {BASE "clock: 2\n", "f:5: chip x: the field clock is there twice"},
      {BASE "plain: f32\n", "f:5: plain: a number is expected"},
      {BASE "plain: f33 8\n", "f:5: plain: \"f33\" is not a type; there are: f64 f32"},
      {BASE "plain: f32 8,\n", "f:5: plain: \"\" is not a type"},
      {BASE "plain: f32 8, f32 8\n", "f:5: plain: f32 is there twice"},
      {BASE "matrix: f32 2x0\n", "f:5: matrix is 0; allowed: 1 to"},
      {BASE "matrix: f32 2@50\n", "f:5: matrix is 50; allowed: 0.01 to 20"},
      {BASE "sparse: f32 8+4\n", "f:1: chip x: sparse: f32 has more kinds of units than units has"},
      {"chip: x\nunits: 2 a\nclock: 1 + 2\nmemory: 64 x 1\n", "f:1: chip x: units has 1 kinds"},
      {"chip: x\nmemory: 64\n", "f:2: memory: expected bits x GT/s"},
      {"chip: x\nmemory: 64 x 0\n", "f:2: memory (GT/s) is 0; allowed: 0.01 to 1000"},
      {"chip: x\nmemory: 64 x 1 x 2 x 3\n", "f:2: memory: \"x 3\" is left over"},
      {BASE "chip: X \nunits: 2\nclock: 1\nmemory: 64 x 1\n", "f:5: chip X: X is also a name of the chip at line 1"},
      {BASE "chip: y\naliases: z, x\nunits: 2\nclock: 1\nmemory: 64 x 1\n", "is also a name of the chip at line 1"},
      {"chip: \033[31m\n", "f:1: byte 7 is 0x1b: not a text"}};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    hn_chips chips = {0};
    hn_diag_clear(&diag);
    assert_int_equal(hn_chips_read(&arena, &diag, "f", rows[i].text, strlen(rows[i].text), &chips), HONE_MALFORMED);
    assert_int_equal(diag.count, 1);
    if (!strstr(diag.entries[0].text, rows[i].says))
      fail_msg("row %zu: \"%s\" lacks \"%s\"", i, diag.entries[0].text, rows[i].says);
  }
}

/* A file's chip stands before a built-in one; a line may end as on Windows, and the last one without an end. */
static void test_own_rows(void **state) {
  (void)state;
  static const char text[] =
      "# mine\r\nchip: A100\r\n\tunits: 2 cores\r\nclock: 2.5\r\nplain: f32 2 x 8\r\nmemory: 64 x 1 x 2";
  hn_chips chips = {0};
  const hn_chip *chip;
  assert_int_equal(hn_chips_builtin(&arena, &diag, &chips), HONE_OK);
  const int builtin = chips.count;
  assert_int_equal(hn_chips_read(&arena, &diag, "f", text, strlen(text), &chips), HONE_OK);
  assert_int_equal(chips.count, builtin + 1);
  assert_int_equal(hn_chips_named(&chips, "a-100", &diag, &chip), HONE_OK);
  assert_true(hn_chip_peak(chip, HN_CHIP_PLAIN, HN_CHIP_F32) == 2.5e9 * 2 * 2 * 8 * 2);
  assert_true(hn_chip_bandwidth(chip) == 16e9);
  assert_int_equal(hn_chips_named(&chips, "RTX 3081", &diag, &chip), HONE_INVALID);
  assert_non_null(strstr(diag.entries[diag.count - 1].text, "did you mean RTX 308"));
  assert_null(chip);
  hn_diag_clear(&diag);
  assert_int_equal(hn_chips_named(&chips, "", &diag, &chip), HONE_INVALID);
}

static void write_file(const char *folder, const char *name, const char *bytes) {
  char path[600];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(bytes, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void test_roofs_file(void **state) {
  (void)state;
  char folder[] = "/tmp/hone_peaks_XXXXXX", inner[64], name[64] = "", command[128];
  assert_non_null(mkdtemp(folder));
  (void)snprintf(inner, sizeof inner, "%s/a/b", folder);
  const hn_allocator allocator = hn_allocator_default();
  const hone_facts facts = {.name = "box",
                            .version = "1",
                            .isa = 5,
                            .threads = 2,
                            .clock_hz = 3e9,
                            .roofs = {[HONE_ROOF_F32] = 1.5e11},
                            .spreads = {[HONE_ROOF_F32] = 0.125}};
  hone_facts found = {.name = "box", .version = "1", .isa = 5, .threads = 2};
  const hone_facts bare = found;
  const char *note;
  assert_false(hn_roofs_load(inner, allocator, &found, &note)); /* there is none */
  assert_null(note);
  assert_true(hn_roofs_save(inner, allocator, &facts));
  assert_true(hn_roofs_load(inner, allocator, &found, &note));
  assert_true(found.clock_hz == 3e9 && found.roofs[HONE_ROOF_F32] == 1.5e11 && found.spreads[HONE_ROOF_F32] == 0.125);
  found = bare;
  found.threads = 3; /* another one's */
  assert_false(hn_roofs_load(inner, allocator, &found, &note));
  assert_null(note);
  (void)snprintf(command, sizeof command, "ls %s", inner);
  FILE *list = popen(command, "r");
  assert_true(list && fgets(name, sizeof name, list));
  assert_null(fgets(command, sizeof command, list)); /* no temporary file is left */
  (void)pclose(list);
  name[strcspn(name, "\n")] = 0;
  static const char *const damaged[] = {"",
                                        "{",
                                        "[]",
                                        "{\"format\": 1}",
                                        "nothing",
                                        ("{\"format\": 1, \"name\": \"box\", \"version\": \"1\", \"isa\": 5, "
                                         "\"threads\": 2, \"clock_hz\": -1}")};
  for (size_t i = 0; i < HN_COUNT(damaged); ++i) {
    write_file(inner, name, damaged[i]);
    found = bare;
    assert_false(hn_roofs_load(inner, allocator, &found, &note));
    assert_non_null(note);
    assert_memory_equal(&found, &bare, sizeof bare);
  }
  assert_false(hn_roofs_save("/proc/no/such", allocator, &facts));
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

/* A device's report: the share reached, and its ridge. */
static void test_device(void **state) {
  (void)state;
  const hone_facts facts = {.name = "box",
                            .version = "1",
                            .threads = 4,
                            .cores = 2,
                            .clock_hz = 2e9,
                            .host_memory = true,
                            .roofs = {[HONE_ROOF_F32] = 64e9, [HONE_ROOF_L1] = 1e11, [HONE_ROOF_MEMORY] = 32e9},
                            .ports = {[HONE_ROOF_F32] = 2},
                            .lanes = {[HONE_ROOF_F32] = 8}};
  const hn_peaks_input input = {.facts = &facts, .note = "a note"};
  const hone_report_options text = {.struct_size = sizeof text}, json = {.struct_size = sizeof json, .json = true};
  hn_text out;
  hn_text_init(&out, hn_allocator_default());
  assert_int_equal(hn_report_peaks(&input, &text, &arena, &out), HONE_OK);
  static const char *const says[] = {"box, 4 threads on 2 cores, a core's clock was 2.00 GHz",
                                     "64 GFLOP/s",
                                     "50.0 %",
                                     "128 GFLOP/s",
                                     "2 GHz x 2 cores x 2 ports x 8 lanes x 2",
                                     "what 1.0 cores could",
                                     "100 GB/s",
                                     "note: a note"};
  for (size_t i = 0; i < HN_COUNT(says); ++i)
    if (!strstr(hn_text_string(&out), says[i])) fail_msg("%s\nlacks %s", hn_text_string(&out), says[i]);
  hn_text_clear(&out);
  assert_int_equal(hn_report_peaks(&input, &json, &arena, &out), HONE_OK);
  assert_non_null(strstr(hn_text_string(&out), "\"reached\": 0.5, \"ridge_ops_per_byte\": 2"));
  hn_text_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stated_peaks),  cmocka_unit_test(test_memory_and_ridges),
                                     cmocka_unit_test(test_builtin_names), cmocka_unit_test(test_terms),
                                     cmocka_unit_test(test_wrong_rows),    cmocka_unit_test(test_own_rows),
                                     cmocka_unit_test(test_roofs_file),    cmocka_unit_test(test_device)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
