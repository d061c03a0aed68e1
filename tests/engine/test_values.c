/* SPDX-License-Identifier: Apache-2.0 */
/* test_values.c - input values that the model cannot take: the run is refused as the caller's fault, in words that name
 * the step, the input and the value, with tactics and on the reference; the session runs on with good values. */
#include "support/built_session.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 8 };

/* Every graph has inputs %x: f32[4,6] and %v: i64[n], and one output. */
typedef struct case_row {
  const char *what, *text;
  int count; /* of v */
  int64_t good[MOST], bad[MOST];
  const char *says, *input; /* on tactics and on the reference */
} case_row;

#define GRAPH(n, nodes) "graph \"g\" opset 17 {\n in %x: f32[4,6]\n in %v: i64[" #n "]\n" nodes "\n out %out\n}\n"

static const case_row rows[] = {
    {"a gather's index",
     GRAPH(2, "%out = gather(%x, %v) @\"pick\""),
     2,
     {0, -4},
     {1, 4},
     "is 4; allowed: -4 to 3",
     "indices is \"v\""},
    {"an index below",
     GRAPH(2, "%out = gather(%x, %v) [axis=1] @\"pick\""),
     2,
     {0, 5},
     {1, -7},
     "is -7; allowed: -6 to 5",
     "indices is \"v\""},
    {"an index of elements",
     GRAPH(6, "const %s: i64[2] = [1,6]\n%r = reshape(%v, %s)\n%out = gather_elements(%x, %r) @\"pick\""),
     6,
     {0, 1, 2, 3, 0, 1},
     {0, 1, 2, 9, 0, 1},
     "is 9; allowed: -4 to 3",
     "indices is \"r\""},
    {"an index of tuples",
     GRAPH(2, "%out = gather_nd(%x, %v) @\"pick\""),
     2,
     {3, 5},
     {3, 6},
     "is 6; allowed: -6 to 5",
     "indices is \"v\""},
    {"where to scatter",
     GRAPH(6, "const %s: i64[2] = [1,6]\nconst %u: f32[1,6] = random 1\n%r = reshape(%v, %s)\n"
              "%out = scatter_elements(%x, %r, %u) @\"pick\""),
     6,
     {0, 1, 2, 3, 0, 1},
     {-5, 1, 2, 3, 0, 1},
     "is -5; allowed: -4 to 3",
     "indices is \"r\""},
    {"a reshape's target",
     GRAPH(2, "%out = reshape(%x, %v) @\"pick\""),
     2,
     {3, 8},
     {5, 5},
     "24 elements",
     "shape is \"v\""},
    {"a reshape's unknown",
     GRAPH(2, "%out = reshape(%x, %v) @\"pick\""),
     2,
     {3, -1},
     {7, -1},
     "24 elements",
     "shape is \"v\""},
    {"what to expand to", GRAPH(3, "%out = expand(%x, %v) @\"pick\""), 3, {2, 4, 6}, {2, 3, 6}, "", "shape is \"v\""},
    {"how often to repeat", GRAPH(2, "%out = tile(%x, %v) @\"pick\""), 2, {2, 1}, {-2, 1}, "-2", "repeats is \"v\""},
    {"the sizes of parts",
     GRAPH(2, "%out, %q = split(%x, %v) [axis=1] @\"pick\""),
     2,
     {2, 4},
     {2, 5},
     "7",
     "split is \"v\""},
    {"how many to take", GRAPH(1, "%out, %i = top_k(%x, %v) @\"pick\""), 1, {3}, {7}, "7", "k is \"v\""},
    {"a depth",
     GRAPH(1, "const %o: f32[2] = [0,1]\nconst %n: i64[3] = [0,1,2]\nconst %z: i64[0] = []\n%d = reshape(%v, %z)\n"
              "%out = one_hot(%n, %d, %o) @\"pick\""),
     1,
     {4},
     {-1},
     "-1",
     "depth is \"d\""},
    {"which axis to squeeze",
     GRAPH(1, "%e = unsqueeze(%x, %v) @\"pick\"\n%out = relu(%e)"),
     1,
     {0},
     {5},
     "5",
     "axes is \"v\""},
};

/* What one run says; NULL when it is fine. */
static const char *run(hone_session *session, const case_row *row, const int64_t *values, hone_status *status) {
  hone_tensor v;
  assert_int_equal(hone_session_tensor(session, "v", &v), HONE_OK);
  memcpy(v.data, values, (size_t)row->count * sizeof *values);
  *status = hone_session_run(session);
  return *status == HONE_OK ? NULL : hone_session_message(session, 0, NULL);
}

static void check(const case_row *row, hone_context *context, hone_device *device, bool reference) {
  built_session side = built_session_make(context, device, row->text, reference, false);
  for (int turn = 0; turn < 2; ++turn) {
    hone_status status, told = HONE_OK;
    const char *said = run(side.session, row, row->good, &status);
    if (status != HONE_OK) fail_msg("%s: good values: %s", row->what, said);
    said = run(side.session, row, row->bad, &status);
    if (status != HONE_INVALID) fail_msg("%s: %s; \"%s\"", row->what, hone_status_name(status), said ? said : "");
    (void)hone_session_message(side.session, 0, &told);
    assert_int_equal(told, HONE_INVALID);
    if (!strstr(said, row->says)) fail_msg("%s: \"%s\" lacks \"%s\"", row->what, said, row->says);
    if (!strstr(said, "in step pick (")) fail_msg("%s: \"%s\" names no step", row->what, said);
    if (!strstr(said, row->input)) fail_msg("%s: \"%s\" lacks \"%s\"", row->what, said, row->input);
  }
  built_session_free(&side);
}

static void test_rows(void **state) {
  (void)state;
  const hone_device_options options = {.struct_size = sizeof options, .threads = 1};
  hone_context *context;
  hone_device *device;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    for (int reference = 0; reference < 2; ++reference) check(&rows[i], context, device, reference);
  hone_device_close(device);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
