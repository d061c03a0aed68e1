/* SPDX-License-Identifier: Apache-2.0 */
/* test_round_trip.c - graphs written as ONNX and read again: plain ones come back equal, fused ones as their pieces. */
#include "export/export.h"
#include "import/import.h"
#include "tensor/shape.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static bool append(void *user, const char *text, size_t length) {
  hn_text_add_bytes(user, text, length);
  return true;
}

/* From the second line on: the first tells name and opset. */
static const char *body_of(const hone_graph *graph, hn_text *text) {
  const hone_print_options options = {.struct_size = sizeof options, .with_types = true, .constant_elements = -1};
  hn_text_init(text, hn_allocator_default());
  assert_int_equal(hone_graph_print(graph, &options, append, text), HONE_OK);
  const char *line = strchr(hn_text_string(text), '\n');
  assert_non_null(line);
  return line;
}

static void pass_through_file(hone_context *context, const char *source, hone_graph **before, hone_graph **after) {
  if (hone_graph_parse(context, source, strlen(source), before) != HONE_OK)
    fail_msg("%s", hone_context_message(context, 0, NULL));
  char path[] = "/tmp/hone_round_trip_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  const hone_status saved = hone_graph_save_onnx(*before, path);
  if (saved != HONE_OK) fail_msg("%s", hone_context_message(context, 0, NULL));
  const hone_status read = hone_graph_load_onnx(context, path, after);
  unlink(path);
  if (read != HONE_OK) fail_msg("%s", hone_context_message(context, 0, NULL));
}

static const char *const plain[] = {
    "graph \"chain\" opset 21 {\n  in %x: f32[N,3,8,8]\n  const %w: f32[4,3,3,3] = random 7\n"
    "  %h = conv(%x, %w) [strides=[2,2]]\n  %y = relu(%h)\n  out %y\n}\n",
    "graph \"large\" opset 21 {\n  in %x: f32[2,64]\n  const %w: f32[64,64] = random 3\n  const %v: f64[3] = [1, 2, "
    "3]\n"
    "  const %i: i64[2] = [32, 4]\n  %m = matmul(%x, %w)\n  %y = reshape(%m, %i)\n  out %y\n}\n",
    "graph \"choice\" opset 21 {\n  in %c: bool[]\n  in %x: f32[4]\n"
    "  %y = if(%c, %x) (%a: f32[4]) { %r = relu(%a) yield %r } (%b: f32[4]) { %n = neg(%b) yield %n }\n"
    "  out %y\n}\n",
};

static void test_plain(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(plain); ++i) {
    hone_context *context;
    assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
    hone_graph *before, *after;
    pass_through_file(context, plain[i], &before, &after);
    hn_text first, second;
    const char *want = body_of(before, &first), *got = body_of(after, &second);
    if (i != 2) { /* parameters of blocks take the names of what they capture */
      assert_string_equal(got, want);
    } else {
      assert_int_equal(hn_graph_node_count(after), hn_graph_node_count(before));
    }
    hn_text_deinit(&first);
    hn_text_deinit(&second);
    hn_graph_destroy(before);
    hn_graph_destroy(after);
    hone_context_destroy(context);
  }
}

static const struct {
  const char *what, *source, *ops; /* ops of the pieces in order */
} fused[] = {
    {"convolution, residual and clip",
     "graph \"g\" opset 21 {\n  in %x: f32[1,4,8,8]\n  const %w: f32[4,4,1,1] = random 1\n  const %b: f32[4] = random "
     "2\n"
     "  %y = conv(%x, %w, %b, %x) [act=\"clip\", act_alpha=0.0, act_beta=6.0]\n  out %y\n}\n",
     "conv add clip "},
    {"linear with silu",
     "graph \"g\" opset 21 {\n  in %x: f32[2,8]\n  const %w: f32[4,8] = random 1\n  const %b: f32[4] = random 2\n"
     "  %y = linear(%x, %w, %b) [transpose_w=1, act=\"silu\"]\n  out %y\n}\n",
     "transpose matmul add sigmoid mul "},
    {"channels of two in another order",
     "graph \"g\" opset 21 {\n  in %x: f32[1,2,3]\n  in %z: f32[1,1,3]\n"
     "  %y, %u = channel_gather(%x, %z) [channels=[2,0,1], split=[1,2]]\n  %v = relu(%u)\n  out %y\n  out %v\n}\n",
     "concat gather split relu "},
    {"a transposed convolution with an activation",
     "graph \"g\" opset 21 {\n  in %x: f32[1,2,3,3]\n  const %w: f32[2,4,2,2] = random 1\n"
     "  %y = conv_transpose(%x, %w) [strides=[2,2], act=\"elu\", act_alpha=0.5]\n  out %y\n}\n",
     "conv_transpose elu "},
    {"a region by its parts",
     "graph \"g\" opset 21 {\n  in %x: f32[1,2,4]\n  const %w: f32[2,2,1] = random 1\n  const %b: f32[2] = random 2\n"
     "  %y = conv_pool(%x, %w, %b) [conv_act=\"relu\", pool_kernel_shape=[2]] parts (%u: f32[1,2,4], %v: f32[2,2,1], "
     "%c: f32[2]) {\n    %r = conv(%u, %v, %c) [act=\"relu\"]\n    %m = max_pool(%r) [kernel_shape=[2]]\n"
     "    yield %m\n  }\n  out %y\n}\n",
     "conv relu max_pool "},
    {"an expression",
     "graph \"g\" opset 21 {\n  in %x: f32[2,8]\n  in %z: f32[8]\n"
     "  %y = fused(%x, %z) [expr=\"select(gt(x0, 0), x0, mul(x1, recip(x0)))\"]\n  out %y\n}\n",
     "greater cast reciprocal mul cast where "},
};

static void test_fused(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(fused); ++i) {
    hone_context *context;
    assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
    hone_graph *before, *after;
    pass_through_file(context, fused[i].source, &before, &after);
    char ops[256] = "";
    for (const hn_node *node = after->main->first; node; node = node->next) {
      strncat(ops, node->op->name, sizeof ops - strlen(ops) - 1);
      strncat(ops, " ", sizeof ops - strlen(ops) - 1);
    }
    if (strcmp(ops, fused[i].ops) != 0) fail_msg("%s: %s", fused[i].what, ops);
    assert_string_equal(after->output_names[0], "y");
    assert_true(hn_type_equal(&before->main->results[0]->fact.type, &after->main->results[0]->fact.type));
    hn_graph_destroy(before);
    hn_graph_destroy(after);
    hone_context_destroy(context);
  }
}

/* Large weights lie aligned in the file, so that reading it back borrows them. */
static void test_alignment(void **state) {
  (void)state;
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_graph *before, *after;
  pass_through_file(context, plain[1], &before, &after);
  int borrowed = 0;
  for (int i = 0; i < after->value_count; ++i) {
    const hone_tensor *constant = after->values[i]->fact.constant;
    if (!constant || constant->bytes < 1024) continue;
    assert_int_equal((uintptr_t)constant->data % 64, 0);
    ++borrowed;
  }
  assert_int_equal(borrowed, 1);
  assert_int_equal(after->mapping_count, 1); /* the file, and no copy besides */
  hn_graph_destroy(before);
  hn_graph_destroy(after);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain),
      cmocka_unit_test(test_fused),
      cmocka_unit_test(test_alignment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
