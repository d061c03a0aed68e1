/* SPDX-License-Identifier: Apache-2.0 */
/* test_recipe.c - recipes: what is read is written as it reads back; what is refused names line, word and what is
 * allowed; steps on an image and where its points lie; graphs that take a recipe, and those that do not. */
#include <hone/hone.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static hone_context *context;

static int setup(void **state) {
  (void)state;
  return hone_context_create(NULL, &context) != HONE_OK;
}

static int teardown(void **state) {
  (void)state;
  hone_context_destroy(context);
  return 0;
}

static bool collect(void *user, const char *text, size_t length) {
  char *to = user;
  const size_t used = strlen(to);
  if (used + length >= 8192) return false;
  memcpy(to + used, text, length);
  to[used + length] = 0;
  return true;
}

static hone_recipe *read_text(const char *text) {
  hone_recipe *recipe;
  if (hone_recipe_read(context, text, strlen(text), "r.txt", &recipe) != HONE_OK)
    fail_msg("%s: %s", text, hone_context_message(context, 0, NULL));
  return recipe;
}

/* ---- text ---- */

static const char *written(const char *text, char *room) {
  hone_recipe *recipe = read_text(text);
  room[0] = 0;
  assert_int_equal(hone_recipe_print(recipe, collect, room), HONE_OK);
  hone_recipe_destroy(recipe);
  return room;
}

static void test_round_trip(void **state) {
  (void)state;
  static const char *const row[][2] = {
      {"", "input\n"},
      {"# nothing\n\n  input  x \r\n", "input x\n"},
      {"resize 64x32\nresize short:20 bicubic\ncrop input\n",
       "input\nresize 64x32 bilinear\nresize short:20 bicubic\ncrop input\n"},
      {"letterbox 640x480 lanczos fill 114\n", "input\nletterbox 640x480 fill 114 lanczos\n"},
      {"affine 1,0.5,-3,0,1,2e1 8x9 fill 7\ngrey\nlayout nhwc",
       "input\naffine 1,0.5,-3,0,1,20 8x9 fill 7\ngrey\nlayout nhwc\n"},
      {"channels bgr\nscale 2/255\nmean 127\nstd 1,2,3\n",
       "input\nchannels bgr\nscale 2/255\nmean 127,127,127\nstd 1,2,3\n"},
      {"classes logits\nsoftmax\ntop 3\nlabel 1 big dog  \nlabel 0 cat\n",
       "input\nclasses logits\nsoftmax\ntop 3\nlabel 0 cat\nlabel 1 big dog\n"},
      {"boxes yolov5\nnms most 7 iou 0.5\n", "input\nboxes yolov5\nnms score 0.25 iou 0.5 most 7\n"},
      {"boxes ssd boxes b scores s background first unit relative format cxcywh\nsoftmax\n",
       "input\nboxes ssd scores s boxes b format cxcywh unit relative background first\nsoftmax\n"
       "nms score 0.25 iou 0.45 most 300\n"},
      {"mask m\nthreshold 0.3\n", "input\nmask m\nthreshold 0.3\n"},
  };
  char once[8192], twice[8192];
  for (size_t i = 0; i < COUNT(row); ++i) {
    assert_string_equal(written(row[i][0], once), row[i][1]);
    assert_string_equal(written(once, twice), once);
  }
}

static void test_builtin(void **state) {
  (void)state;
  const char *name, *doc, *text;
  char once[8192], twice[8192];
  int count = 0;
  for (; hone_recipe_builtin(count, &name, &doc, &text); ++count) {
    assert_true(*name && *doc);
    (void)written(text, once);
    assert_string_equal(written(once, twice), once);
  }
  assert_true(count >= 7);
  assert_false(hone_recipe_builtin(count, NULL, NULL, NULL));
  assert_false(hone_recipe_builtin(-1, NULL, NULL, NULL));
}

static void test_refused(void **state) {
  (void)state;
  static const char *const row[][2] = {
      {"input\nrezise 1x1\n", "r.txt:2: there is no step \"rezise\"; allowed: input, resize"},
      {"resize\n", "the size is \"\"; expected: WxH, short:N or input"},
      {"resize 10\n", "the size is \"10\""},
      {"resize 0x5\n", "allowed: 1 to 32768 each way"},
      {"resize 5x40000\n", "allowed: 1 to 32768 each way"},
      {"resize short:0\n", "the shorter side is 0; allowed: 1 to 32768"},
      {"resize 5x5 cubic\n", "the filter is \"cubic\"; allowed: bilinear, bicubic, box, hamming, lanczos"},
      {"crop short:5\n", "expected: WxH or input"},
      {"crop 5x5 7\n", "\"7\" is too much; expected: crop WxH|input"},
      {"letterbox 5x5 fill 256\n", "the fill is 256; allowed: 0 to 255"},
      {"letterbox 5x5 fill\n", "the fill is \"\", which is no whole number"},
      {"affine 1,2,3 4x4\n", "expected 6 numbers separated by commas"},
      {"affine 1,0,0,0,1,x 4x4\n", "the number is \"x\""},
      {"scale 1/0\n", "the divisor is 0"},
      {"scale 0\n", "the factor is 0"},
      {"scale nan\n", "no number"},
      {"mean 1,2\n", "expected 3 numbers"},
      {"std 0.5,0,1\n", "std: a number is 0"},
      {"channels gbr\n", "the order is \"gbr\"; allowed: rgb, bgr"},
      {"layout nwhc\n", "allowed: nchw, nhwc"},
      {"mean 1\nmean 2\n", "r.txt:2: mean stands in the recipe twice"},
      {"classes\nmask\n", "r.txt:2: mask: the recipe says already what its output is"},
      {"softmax\n", "softmax stands behind classes"},
      {"mask\ntop 5\n", "top stands behind classes"},
      {"classes\ntop 0\n", "the count is 0; allowed: 1 to"},
      {"boxes yolo\n", "the form is \"yolo\"; allowed: yolov8, yolov5, ssd, yunet"},
      {"boxes yolov8\nsoftmax\n", "the scores of yolov8 are no logits"},
      {"boxes ssd scores s\n", "both outputs must be named"},
      {"boxes ssd scores s boxes\n", "nothing follows boxes"},
      {"boxes ssd points p\n", "the word is \"points\"; allowed: scores, boxes, format"},
      {"boxes yolov8\nnms score 1.5\n", "the score is 1.5; allowed: 0 to 1"},
      {"classes\nnms\n", "nms stands behind boxes"},
      {"label x cat\n", "the class is \"x\", which is no whole number"},
      {"label 1\n", "the class has no name"},
      {"label 1 \xff\n", "not UTF-8"},
      {"input \xc3\x28\n", "not UTF-8"},
      {"labels\n", "no file is named"},
  };
  for (size_t i = 0; i < COUNT(row); ++i) {
    hone_recipe *recipe = (hone_recipe *)&recipe; /* not NULL */
    hone_context_clear_messages(context);
    const hone_status status = hone_recipe_read(context, row[i][0], strlen(row[i][0]), "r.txt", &recipe);
    const char *message = hone_context_message(context, 0, NULL);
    if (status != HONE_INVALID || !message || !strstr(message, row[i][1]))
      fail_msg("%s gives %s, %s; expected \"%s\"", row[i][0], hone_status_name(status), message ? message : "nothing",
               row[i][1]);
    assert_null(recipe);
  }
  hone_recipe *recipe;
  assert_int_equal(hone_recipe_read(context, "input\0x", 7, NULL, &recipe), HONE_INVALID);
  assert_int_equal(hone_recipe_read(context, "labels /nowhere/x.txt", 21, NULL, &recipe), HONE_IO);
}

static void test_labels(void **state) {
  (void)state;
  char path[] = "/tmp/hone_labels_XXXXXX";
  const int file = mkstemp(path);
  static const char text[] = "one\nfile.jpg\t7\tseven up\nthree\n";
  assert_true(file >= 0 && write(file, text, sizeof text - 1) == (ssize_t)(sizeof text - 1) && close(file) == 0);
  hone_recipe *recipe = read_text("classes\nlabel 9 gone\n");
  assert_int_equal(hone_recipe_label_count(recipe), 10);
  assert_int_equal(hone_recipe_read_labels(recipe, path), HONE_OK);
  assert_int_equal(hone_recipe_label_count(recipe), 8);
  assert_string_equal(hone_recipe_label(recipe, 0), "one");
  assert_string_equal(hone_recipe_label(recipe, 2), "three");
  assert_string_equal(hone_recipe_label(recipe, 7), "seven up");
  assert_null(hone_recipe_label(recipe, 1));
  assert_null(hone_recipe_label(recipe, 8));
  assert_null(hone_recipe_label(recipe, -1));
  hone_recipe_destroy(recipe);
  assert_int_equal(unlink(path), 0);
}

/* ---- images ---- */

static hone_tensor prepare(const char *text, int64_t width, int64_t height, double map[6]) {
  hone_recipe *recipe = read_text(text);
  uint8_t *rgb = malloc((size_t)(width * height * 3));
  hone_tensor out;
  for (int64_t i = 0; i < width * height * 3; ++i) rgb[i] = (uint8_t)(i * 7 % 251);
  if (hone_recipe_prepare(recipe, context, rgb, width, height, &out, map) != HONE_OK)
    fail_msg("%s: %s", text, hone_context_message(context, 0, NULL));
  free(rgb);
  hone_recipe_destroy(recipe);
  return out;
}

/* Where the prepared image's corners lie in the one that was given. */
static void test_places(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t width, height, got_width, got_height, channels;
    double left, top, right, bottom;
  } row[] = {
      {"", 6, 4, 6, 4, 3, 0, 0, 6, 4},
      {"resize 12x2", 6, 4, 12, 2, 3, 0, 0, 6, 4},
      {"resize short:8", 6, 4, 12, 8, 3, 0, 0, 6, 4},
      {"crop 2x2", 6, 4, 2, 2, 3, 2, 1, 4, 3},
      {"resize 12x8\ncrop 4x4", 6, 4, 4, 4, 3, 2, 1, 4, 3},
      {"letterbox 12x12 fill 1", 6, 4, 12, 12, 3, 0, -1, 6, 5},
      {"letterbox 6x3", 2, 4, 6, 3, 3, -2, 0, 4, 4},
      {"affine 2,0,1,0,2,0 3x2", 6, 4, 3, 2, 3, 1, 0, 7, 4},
      {"grey\ncrop 2x4", 6, 4, 2, 4, 1, 2, 0, 4, 4},
  };
  for (size_t i = 0; i < COUNT(row); ++i) {
    double m[6];
    hone_tensor out = prepare(row[i].text, row[i].width, row[i].height, m);
    assert_int_equal(out.type.dtype, HONE_U8);
    assert_int_equal(out.type.shape.dim[1], row[i].got_height);
    assert_int_equal(out.type.shape.dim[2], row[i].got_width);
    assert_int_equal(out.type.shape.dim[3], row[i].channels);
    const double right = (double)row[i].got_width, bottom = (double)row[i].got_height;
    const double got[4] = {m[2], m[5], m[0] * right + m[1] * bottom + m[2], m[3] * right + m[4] * bottom + m[5]};
    const double want[4] = {row[i].left, row[i].top, row[i].right, row[i].bottom};
    for (int k = 0; k < 4; ++k)
      if (fabs(got[k] - want[k]) > 1e-9) fail_msg("%s: number %d is %g, not %g", row[i].text, k, got[k], want[k]);
    hone_tensor_free(context, &out);
  }
}

static void test_images_refused(void **state) {
  (void)state;
  static const char *const row[] = {"crop 7x2", "resize input", "letterbox input"};
  const uint8_t rgb[6 * 4 * 3] = {0};
  for (size_t i = 0; i < COUNT(row); ++i) {
    hone_recipe *recipe = read_text(row[i]);
    hone_tensor out;
    assert_int_equal(hone_recipe_prepare(recipe, context, rgb, 6, 4, &out, NULL), HONE_INVALID);
    assert_null(out.data);
    hone_recipe_destroy(recipe);
  }
  hone_recipe *recipe = read_text("resize short:32768");
  hone_tensor out;
  assert_int_equal(hone_recipe_prepare(recipe, context, rgb, 6, 4, &out, NULL), HONE_INVALID); /* the longer side */
  hone_recipe_destroy(recipe);
}

/* ---- graphs ---- */

static hone_graph *parse(const char *text) {
  hone_graph *graph;
  if (hone_graph_parse(context, text, strlen(text), &graph) != HONE_OK)
    fail_msg("%s: %s", text, hone_context_message(context, 0, NULL));
  return graph;
}

static void add_op(void *user, const char *name, const char *op) {
  char *text = user;
  const size_t used = strlen(text);
  (void)name;
  (void)snprintf(text + used, 1024 - used, "%s%s", used ? " " : "", op);
}

static const char classifier[] = "graph \"g\" opset 21 {\n  in %x: f32[1,3,4,6]\n  const %s: i64[2] = [1,72]\n"
                                 "  %y = reshape(%x, %s)\n  %p = softmax(%y)\n  %q = sigmoid(%y)\n  %z = relu(%x)\n"
                                 "  out %y as \"y\"\n  out %p as \"p\"\n  out %q as \"q\"\n  out %z as \"z\"\n}\n";

static void test_attach(void **state) {
  (void)state;
  static const struct {
    const char *text, *ops; /* in front, and behind the model's own */
    int outputs;
  } row[] = {
      {"", "transpose cast reshape softmax sigmoid relu", 4},
      {"channels bgr\nscale 2/255\nmean 1,2,3\nstd 2",
       "transpose gather cast mul div sub div reshape softmax sigmoid relu", 4},
      {"resize input\nclasses y\nsoftmax\ntop 9", "transpose cast reshape softmax sigmoid relu softmax top_k", 2},
      {"classes y\n", "transpose cast reshape softmax sigmoid relu top_k", 2},
      {"classes p\nsoftmax\n", "transpose cast reshape softmax sigmoid relu top_k", 2}, /* not twice */
      {"classes q\nsoftmax\n", "transpose cast reshape softmax sigmoid relu top_k", 2},
      {"mask z\n", "transpose cast reshape softmax sigmoid relu arg_max cast", 1},
  };
  for (size_t i = 0; i < COUNT(row); ++i) {
    hone_graph *graph = parse(classifier), *made;
    hone_recipe *recipe = read_text(row[i].text), *kept;
    if (hone_graph_attach_recipe(graph, recipe, &made) != HONE_OK)
      fail_msg("%s: %s", row[i].text, hone_context_message(context, 0, NULL));
    char ops[1024] = "";
    hone_graph_each_node(made, add_op, ops);
    assert_string_equal(ops, row[i].ops);
    assert_int_equal(hone_graph_output_count(made), row[i].outputs);
    assert_int_equal(hone_graph_output_count(graph), 4);
    hone_type type;
    hone_value_type(hone_graph_input(made, 0), &type);
    assert_string_equal(hone_value_name(hone_graph_input(made, 0)), "x");
    assert_int_equal(hone_graph_input_count(made), 1);
    assert_int_equal(type.dtype, HONE_U8);
    assert_int_equal(type.shape.dim[1], 4);
    assert_int_equal(type.shape.dim[2], 6);
    assert_int_equal(type.shape.dim[3], 3);
    assert_int_equal(hone_graph_recipe(context, made, &kept), HONE_OK);
    assert_string_equal(hone_recipe_input(kept), "x");
    assert_int_equal(hone_recipe_kind_of(kept), hone_recipe_kind_of(recipe));
    hone_graph *again;
    assert_int_equal(hone_graph_attach_recipe(made, recipe, &again), HONE_INVALID);
    hone_recipe_destroy(kept);
    hone_recipe_destroy(recipe);
    hone_graph_destroy(made);
    hone_graph_destroy(graph);
  }
}

/* A session finds inputs and outputs by their names. */
static void test_attach_names(void **state) {
  (void)state;
  hone_graph *graph = parse("graph \"g\" opset 21 {\n  in %scores: f32[1,3,4,6]\n  const %s: i64[2] = [1,72]\n"
                            "  %y = reshape(%scores, %s)\n  out %y as \"y\"\n}\n"),
             *made;
  hone_recipe *recipe = read_text("classes\n");
  assert_int_equal(hone_graph_attach_recipe(graph, recipe, &made), HONE_INVALID);
  hone_recipe_destroy(recipe);
  hone_graph_destroy(graph);
}

static void test_attach_refused(void **state) {
  (void)state;
  static const char *const row[][2] = {
      {"input z\n", "the model has no input z"},
      {"resize 5x5\n", "the steps make 5 x 5 pixels, and input x takes 6 x 4"},
      {"resize short:4\n", "the steps leave the size to the photo"},
      {"grey\n", "input x takes 3 channels, and the recipe makes 1"},
      {"layout nhwc\n", "input x takes 6 channels"},
      {"classes\n", "the model has 4 outputs, and one must be named: y, p, q, z"},
      {"classes w\n", "the model has no output w; its outputs: y, p, q, z"},
      {"classes z\nsoftmax\n", "output z is no class scores"},
      {"classes y\nlabel 72 x\n", "there is a label for class 72, but the output has 72 classes"},
      {"mask y\n", "output y is no mask"},
      {"boxes yolov8 y\n", "output y is f32 of rank 2"},
      {"boxes yunet\n", "yunet needs an image of known size"},
  };
  hone_graph *graph = parse(classifier);
  for (size_t i = 0; i < COUNT(row); ++i) {
    hone_recipe *recipe = read_text(row[i][0]);
    hone_graph *made = graph;
    hone_context_clear_messages(context);
    const hone_status status = hone_graph_attach_recipe(graph, recipe, &made);
    const char *message = hone_context_message(context, 0, NULL);
    if (status != HONE_INVALID || !strstr(message, row[i][1]))
      fail_msg("%s gives %s, %s; expected \"%s\"", row[i][0], hone_status_name(status), message, row[i][1]);
    assert_null(made);
    hone_recipe_destroy(recipe);
  }
  hone_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip), cmocka_unit_test(test_builtin),      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_labels),     cmocka_unit_test(test_places),       cmocka_unit_test(test_images_refused),
      cmocka_unit_test(test_attach),     cmocka_unit_test(test_attach_names), cmocka_unit_test(test_attach_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
