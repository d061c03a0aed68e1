/* SPDX-License-Identifier: Apache-2.0 */
/* test_models.c - every trained model of HONE_TEST_DATA/models becomes a verified graph, and its coverage says so. */
#include "import/check.h"
#include "import/import.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

static void check_model(const char *path) {
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_graph *graph;
  const hone_status got = hn_import_onnx(context, path, &graph);
  if (got != HONE_OK) fail_msg("%s: %s", path, hone_context_message(context, 0, NULL));
  assert_int_equal(hn_graph_verify(graph), HONE_OK);
  assert_true(hn_graph_node_count(graph) > 0 && graph->model_hash != 0);
  hn_graph_destroy(graph);
  hn_check check;
  assert_int_equal(hn_check_onnx(context, path, &check), HONE_OK);
  int64_t nodes = 0;
  for (int i = 0; i < check.row_count; ++i) nodes += check.rows[i].count;
  assert_true(check.unsupported_nodes == 0 && check.node_count == nodes && nodes > 0);
  hn_check_deinit(&check);
  hone_context_destroy(context);
}

static void test_all(void **state) {
  DIR *folder = *state;
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    char path[4096];
    struct stat about;
    snprintf(path, sizeof path, "%s/models/%s/model.onnx", getenv("HONE_TEST_DATA"), entry->d_name);
    if (entry->d_name[0] == '.' || stat(path, &about) != 0) continue;
    check_model(path);
    ++count;
  }
  assert_true(count > 0);
}

int main(void) {
  const char *data = getenv("HONE_TEST_DATA");
  char path[4096];
  snprintf(path, sizeof path, "%s/models", data ? data : "../shared");
  if (!data) setenv("HONE_TEST_DATA", "../shared", 1);
  DIR *folder = opendir(path);
  if (!folder) {
    printf("skipped: %s is not there\n", path);
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_all, folder)};
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  closedir(folder);
  return failed;
}
