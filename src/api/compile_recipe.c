/* SPDX-License-Identifier: Apache-2.0 */
/* compile_recipe.c - a recipe attached to a graph: bytes [N,H,W,3] in, classes, boxes or a mask out. */
#include "api/attach.h"
#include "base/arguments.h"
#include "ir/build.h"
#include "tensor/shape.h"
#include <string.h>

hone_status hone_graph_recipe(hone_context *context, const hone_graph *graph, hone_recipe **out_recipe) {
  if (out_recipe) *out_recipe = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, graph);
  HN_GIVEN(&context->diag, out_recipe);
  hn_call_begin(context);
  const char *text = graph->recipe;
  return text ? hn_recipe_make(context, text, strlen(text), "the graph's recipe", true, out_recipe) : HONE_OK;
}

/* ---- the input ---- */

static hn_value *find_input(hn_attach *a) {
  const hn_block *main = a->graph->main;
  hn_value *found = NULL;
  for (int i = 0; i < main->param_count; ++i) {
    hn_value *param = main->params[i];
    if (a->recipe.input ? strcmp(param->name, a->recipe.input) != 0 : param->fact.type.shape.rank != 4) continue;
    if (found) {
      hn_attach_fail(a, "the model has several inputs of rank 4, %s and %s: name one", found->name, param->name);
      return NULL;
    }
    found = param;
  }
  if (!found && a->recipe.input)
    hn_attach_fail(a, "the model has no input %s", a->recipe.input);
  else if (!found)
    hn_attach_fail(a, "the model has no input of rank 4 that an image could be for");
  return found;
}

static int64_t number(int64_t dim) { return HONE_SYMBOLIC(dim) ? -1 : dim; }

/* Sizes that the input says, then the size that the steps make, against the network's. */
static void settle_size(hn_attach *a, const char *input, int64_t width, int64_t height) {
  hone_recipe *recipe = &a->recipe;
  for (int i = 0; i < recipe->step_count; ++i) {
    if (recipe->steps[i].size.kind != HN_SIZE_INPUT) continue;
    if (width < 0 || height < 0) {
      hn_attach_fail(a, "input %s takes images of any size, so a step's size cannot be the input's: write WxH", input);
      return;
    }
    recipe->steps[i].size = (hn_size){HN_SIZE_PIXELS, width, height};
  }
  if (!hn_recipe_size(recipe, &a->width, &a->height)) {
    int64_t steps = 0;
    for (int i = 0; i < recipe->step_count; ++i) steps += recipe->steps[i].op != HN_IMAGE_GREY;
    if (steps > 0 && (width >= 0 || height >= 0))
      hn_attach_fail(
          a, "the steps leave the size to the photo, and input %s takes %lld x %lld pixels: end with crop or resize",
          input, (long long)width, (long long)height);
    a->width = width;
    a->height = height;
  } else if ((width >= 0 && width != a->width) || (height >= 0 && height != a->height)) {
    hn_attach_fail(a, "the steps make %lld x %lld pixels, and input %s takes %lld x %lld", (long long)a->width,
                   (long long)a->height, input, (long long)width, (long long)height);
  }
}

/* The type of the bytes, beside which what the network has is settled. */
static void byte_type(hn_attach *a, const hn_value *input, hone_type *out) {
  const hone_shape *shape = &input->fact.type.shape;
  hone_recipe *recipe = &a->recipe;
  if (shape->rank != 4) {
    hn_attach_fail(a, "input %s has rank %d; an image needs [N,C,H,W] or [N,H,W,C]", input->name, shape->rank);
    return;
  }
  const bool first = shape->dim[1] == 1 || shape->dim[1] == 3, last = shape->dim[3] == 1 || shape->dim[3] == 3;
  a->channels_last = recipe->layout == HN_LAYOUT_BY_INPUT ? last && !first : recipe->layout == HN_LAYOUT_NHWC;
  recipe->layout = a->channels_last ? HN_LAYOUT_NHWC : HN_LAYOUT_NCHW;
  const int64_t channels = shape->dim[a->channels_last ? 3 : 1], wanted = hn_recipe_is_grey(recipe) ? 1 : 3;
  const int64_t height = shape->dim[a->channels_last ? 1 : 2], width = shape->dim[a->channels_last ? 2 : 3];
  if (!HONE_SYMBOLIC(channels) && channels != wanted)
    hn_attach_fail(a, "input %s takes %lld channels, and the recipe makes %lld%s", input->name, (long long)channels,
                   (long long)wanted, channels == 1 ? " (without the step grey)" : "");
  settle_size(a, input->name, number(width), number(height));
  const int64_t dims[] = {shape->dim[0], a->height < 0 ? height : a->height, a->width < 0 ? width : a->width, wanted};
  *out = (hone_type){.kind = HONE_TENSOR, .dtype = HONE_U8, .shape = hn_shape(4, dims)};
}

/* A number a channel, in the order of the network's. */
static hn_value *by_channel(hn_attach *a, const double *rgb) {
  const bool one = hn_recipe_is_grey(&a->recipe) || (rgb[0] == rgb[1] && rgb[1] == rgb[2]);
  if (one) return hn_attach_real(a, rgb[0]);
  float values[3];
  for (int c = 0; c < 3; ++c) values[c] = (float)rgb[a->recipe.bgr ? 2 - c : c];
  const int64_t planes[] = {3, 1, 1}, pixels[] = {3};
  return hn_attach_reals(a, a->channels_last ? 1 : 3, a->channels_last ? pixels : planes, values);
}

static hn_value *prepared(hn_attach *a, hn_value *x, hone_dtype dtype) {
  const hone_recipe *r = &a->recipe;
  static const int64_t planes[] = {0, 3, 1, 2}, turned[] = {2, 1, 0};
  const bool real = HONE_BIT(dtype) & HONE_TYPES_FLOAT,
             numbers = r->scale != 1 || r->divisor != 1 || r->has_mean || r->has_std;
  if (!real && numbers)
    hn_attach_fail(a, "the input takes %s, and scale, mean and std make real numbers", hone_dtype_name(dtype));
  if (!a->channels_last) x = hn_attach_transpose(a, x, 4, planes);
  if (r->bgr && !hn_recipe_is_grey(r)) {
    const hone_attr attrs[] = {{.name = "axis", .kind = HONE_ATTR_INT, .i = a->channels_last ? 3 : 1}};
    hn_attach_nodes(a, "gather", 2, (hn_value *const[]){x, hn_attach_ints(a, 1, 3, turned)}, 1, attrs, 1, &x);
  }
  if (real) x = hn_attach_cast(a, x, HONE_F32);
  if (r->scale != 1) x = hn_attach_binary(a, "mul", x, hn_attach_real(a, r->scale));
  if (r->divisor != 1) x = hn_attach_binary(a, "div", x, hn_attach_real(a, r->divisor));
  if (r->has_mean) x = hn_attach_binary(a, "sub", x, by_channel(a, r->mean));
  if (r->has_std) x = hn_attach_binary(a, "div", x, by_channel(a, r->std));
  return hn_attach_cast(a, x, dtype);
}

/* The bytes take the input's place and name. */
static void attach_input(hn_attach *a) {
  hn_block *main = a->graph->main;
  hn_value *old = find_input(a);
  hone_type type;
  if (a->status == HONE_OK) byte_type(a, old, &type);
  if (a->status != HONE_OK) return;
  hn_value *bytes = hn_block_add_param(main, old->name, &type);
  if (!bytes) {
    a->status = HONE_NO_MEMORY;
    return;
  }
  hn_value *now = prepared(a, bytes, old->fact.type.dtype);
  if (a->status != HONE_OK) return;
  hn_value_replace(old, now);
  hn_value_swap_names(a->graph, old, bytes);
  a->recipe.input = bytes->name;
  main->params[old->out_index] = bytes;
  bytes->out_index = old->out_index;
  --main->param_count;
  hn_value_forget(old);
  a->status = hn_infer_graph(a->graph);
}

/* ---- the outputs ---- */

/* [N,C] of f32: of an output whose dims but the first and one are 1. */
static hn_value *score_rows(hn_attach *a, int64_t *out_classes) {
  hn_value *x = hn_attach_output(a, a->recipe.output);
  if (a->status != HONE_OK) return NULL;
  const hone_shape *shape = &x->fact.type.shape;
  int64_t classes = 1;
  bool fits = shape->rank >= 1 && (HONE_BIT(x->fact.type.dtype) & HONE_TYPES_FLOAT);
  for (int i = shape->rank > 1; i < shape->rank; ++i) {
    if (HONE_SYMBOLIC(shape->dim[i]) || (classes > 1 && shape->dim[i] != 1)) fits = false;
    if (shape->dim[i] > classes) classes = shape->dim[i];
  }
  if (!fits || classes < 2) {
    hn_attach_fail(a, "output %s is no class scores: these are real numbers [N,C], whose other dims are 1", x->name);
    return NULL;
  }
  *out_classes = classes;
  x = hn_attach_cast(a, x, HONE_F32);
  if (shape->rank == 2) return x;
  return hn_attach_binary(a, "reshape", x, hn_attach_ints(a, 1, 2, (const int64_t[]){-1, classes}));
}

/* What the graph gives: nothing but this. */
static void give(hn_attach *a, int count, hn_value *const *values, const char *const *names) {
  hn_block *main = a->graph->main;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < main->param_count; ++k)
      if (strcmp(main->params[k]->name, names[i]) == 0)
        hn_attach_fail(a, "an input of the model is called %s, as an output of the recipe's", names[i]);
  if (a->status != HONE_OK) return;
  for (int i = 0; i < main->result_count; ++i) hn_use_unlink(main->results[i], main->result_use[i]);
  main->result_count = 0;
  for (int i = 0; i < count && a->status == HONE_OK; ++i) a->status = hn_block_add_result(main, values[i], names[i]);
}

static void attach_classes(hn_attach *a) {
  static const char *const names[] = {"scores", "classes"};
  int64_t classes = 0;
  hn_value *x = score_rows(a, &classes), *best[2];
  hn_attach_check_labels(a, classes);
  if (a->recipe.softmax) hn_attach_softmax(a, &x, 1);
  if (a->recipe.top > classes) a->recipe.top = classes;
  const hone_attr attrs[] = {{.name = "axis", .kind = HONE_ATTR_INT, .i = 1}};
  hn_attach_nodes(a, "top_k", 2, (hn_value *const[]){x, hn_attach_ints(a, 1, 1, &a->recipe.top)}, 1, attrs, 2, best);
  give(a, 2, best, names);
}

/* One column of indices [M,3], as [M]. */
static hn_value *column(hn_attach *a, hn_value *indices, int64_t at) {
  static const int64_t axis = 1;
  return hn_attach_binary(a, "squeeze", hn_attach_slice(a, indices, 1, at, at + 1), hn_attach_ints(a, 1, 1, &axis));
}

static void attach_boxes(hn_attach *a) {
  static const char *const names[] = {"boxes", "scores", "classes", "batch_indices"};
  hn_value *boxes, *scores, *kept;
  hn_attach_boxes(a, &boxes, &scores);
  if (a->status != HONE_OK) return;
  hn_attach_check_labels(a, scores->fact.type.shape.dim[1]);
  hn_value *const in[] = {boxes, scores, hn_attach_ints(a, 1, 1, &a->recipe.most), hn_attach_real(a, a->recipe.iou),
                          hn_attach_real(a, a->recipe.score)};
  hn_attach_nodes(a, "non_max_suppression", 5, in, 0, NULL, 1, &kept);
  const hone_attr attrs[] = {{.name = "axis", .kind = HONE_ATTR_INT, .i = 1}};
  static const int64_t image_and_place[] = {0, 2};
  hn_value *places;
  hn_attach_nodes(a, "gather", 2, (hn_value *const[]){kept, hn_attach_ints(a, 1, 2, image_and_place)}, 1, attrs, 1,
                  &places);
  hn_value *const out[] = {hn_attach_binary(a, "gather_nd", boxes, places),
                           hn_attach_binary(a, "gather_nd", scores, kept), column(a, kept, 1), column(a, kept, 0)};
  give(a, 4, out, names);
}

/* [N,C,H,W] (or channels last): the best class of each pixel; one channel: those above a threshold; [N,H,W] of whole
 * numbers: classes already. */
static void attach_mask(hn_attach *a) {
  static const char *const names[] = {"mask"};
  hn_value *x = hn_attach_output(a, a->recipe.output);
  if (a->status != HONE_OK) return;
  const hone_type *type = &x->fact.type;
  const bool real = HONE_BIT(type->dtype) & HONE_TYPES_FLOAT;
  const int64_t axis = a->channels_last ? 3 : 1, channels = type->shape.rank == 4 ? type->shape.dim[axis] : 1;
  if ((type->shape.rank != 4 && type->shape.rank != 3) || HONE_SYMBOLIC(channels) || channels < 1 || channels > 256 ||
      (channels > 1 && !real) || !(HONE_BIT(type->dtype) & HONE_TYPES_NUMBER)) {
    hn_attach_fail(a,
                   "output %s is no mask: these are real numbers [N,C,H,W] of at most 256 classes, or numbers [N,H,W]",
                   x->name);
    return;
  }
  if (channels > 1) {
    const hone_attr attrs[] = {{.name = "axis", .kind = HONE_ATTR_INT, .i = axis},
                               {.name = "keepdims", .kind = HONE_ATTR_INT, .i = 0}};
    hn_attach_check_labels(a, channels);
    hn_attach_nodes(a, "arg_max", 1, (hn_value *const[]){x}, 2, attrs, 1, &x);
  } else {
    if (type->shape.rank == 4) x = hn_attach_binary(a, "squeeze", x, hn_attach_ints(a, 1, 1, &axis));
    if (real)
      x = hn_attach_binary(a, "greater", hn_attach_cast(a, x, HONE_F32), hn_attach_real(a, a->recipe.threshold));
  }
  x = hn_attach_cast(a, x, HONE_U8);
  give(a, 1, &x, names);
}

static hone_status keep_text(hn_attach *a) {
  hn_text text;
  hn_text_init(&text, a->graph->context->allocator);
  hn_recipe_write(&a->recipe, &text);
  a->graph->recipe = text.failed ? NULL : hn_arena_text(&a->graph->arena, hn_text_string(&text));
  hn_text_deinit(&text);
  return a->graph->recipe ? HONE_OK : HN_FAIL_MEMORY(&a->graph->context->diag);
}

static hone_status attach(hone_graph *graph, const hone_recipe *recipe) {
  static void (*const outputs[])(hn_attach *) = {
      [HONE_RECIPE_CLASSES] = attach_classes, [HONE_RECIPE_BOXES] = attach_boxes, [HONE_RECIPE_MASK] = attach_mask};
  hn_attach a = {.graph = graph, .recipe = *recipe, .before = graph->main->first};
  attach_input(&a);
  a.before = NULL;
  if (a.status == HONE_OK && outputs[recipe->kind]) outputs[recipe->kind](&a);
  HN_TRY(a.status);
  HN_TRY(keep_text(&a));
  return hn_graph_verify(graph);
}

hone_status hone_graph_attach_recipe(const hone_graph *graph, const hone_recipe *recipe, hone_graph **out_graph) {
  if (out_graph) *out_graph = NULL;
  HN_GIVEN(NULL, graph);
  hone_diagnostics *diag = &graph->context->diag;
  HN_GIVEN(diag, recipe);
  HN_GIVEN(diag, out_graph);
  hn_call_begin(graph->context);
  if (graph->recipe) return HN_FAIL(diag, HONE_INVALID, "the graph has a recipe already");
  hone_graph *made;
  HN_TRY(hn_graph_clone(graph, &made));
  const hone_status status = attach(made, recipe);
  if (status == HONE_OK)
    *out_graph = made;
  else
    hn_graph_destroy(made);
  return status;
}
