/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_results.c - what a run found, as the engine's recipe says it: classes, boxes and masks with names, in the
 * coordinates of the photo that was given. */
#include "recipe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool cli_recipe_tells(const cli_tool *cli) {
  return cli->recipe && hone_recipe_kind_of(cli->recipe) != HONE_RECIPE_NONE;
}

static const char *name_of(const cli_tool *cli, int64_t class) {
  const char *label = hone_recipe_label(cli->recipe, class);
  return label ? label : "";
}

static void print_label(const cli_tool *cli, int64_t class) {
  printf("{\"class\": %lld, \"label\": ", (long long)class);
  cli_json_text(stdout, name_of(cli, class));
}

/* A name, or the class's number. */
static void told_name(const cli_tool *cli, int64_t class, char *out, size_t room) {
  const char *name = name_of(cli, class);
  if (*name)
    (void)snprintf(out, room, "%s", name);
  else
    (void)snprintf(out, room, "class %lld", (long long)class);
}

static hone_status find(hone_session *session, const char *name, hone_tensor *out) {
  return hone_session_tensor(session, name, out);
}

/* ---- classes ---- */

static int give_classes(cli_tool *cli, hone_session *session, bool json, cli_image *canvas) {
  hone_tensor scores, classes;
  hone_status status = find(session, "scores", &scores);
  if (status == HONE_OK) status = find(session, "classes", &classes);
  if (status != HONE_OK) return cli_fail_session(cli, session, status);
  const int64_t images = scores.type.shape.dim[0], most = scores.type.shape.dim[1];
  if (json) printf("\"kind\": \"classes\", \"images\": [");
  for (int64_t i = 0; i < images; ++i) {
    if (json) printf("%s[", i ? ", " : "");
    if (!json && images > 1) printf("image %lld:\n", (long long)i);
    for (int64_t k = 0; k < most; ++k) {
      const int64_t class = (int64_t)hone_tensor_real(&classes, i * most + k);
      const double score = hone_tensor_real(&scores, i * most + k);
      if (json) {
        printf("%s", k ? ", " : "");
        print_label(cli, class);
        printf(", \"score\": %.9g}", score);
      } else {
        printf("  %2lld. %5lld  %-40s %8.4f\n", (long long)k + 1, (long long)class, name_of(cli, class), score);
      }
    }
    if (json) printf("]");
  }
  if (json) printf("]");
  if (!canvas || most == 0 || images == 0) return CLI_EXIT_OK;
  char name[128], text[160];
  const int64_t class = (int64_t)hone_tensor_real(&classes, 0);
  told_name(cli, class, name, sizeof name);
  (void)snprintf(text, sizeof text, "%s %.2f", name, hone_tensor_real(&scores, 0));
  cli_draw_text(canvas, class, text, 0, 0);
  return CLI_EXIT_OK;
}

/* ---- boxes ---- */

/* From the prepared image to the photo: the box around what its corners become, within the photo. */
static void to_photo(const cli_tool *cli, cli_box *box) {
  const double x[2] = {box->left, box->right}, y[2] = {box->top, box->bottom}, *m = cli->to_photo;
  if (!cli->photo.pixels) return;
  *box = (cli_box){
      .class = box->class, .image = box->image, .score = box->score, INFINITY, INFINITY, -INFINITY, -INFINITY};
  for (int i = 0; i < 4; ++i) {
    const double across = m[0] * x[i & 1] + m[1] * y[i >> 1] + m[2], down = m[3] * x[i & 1] + m[4] * y[i >> 1] + m[5];
    box->left = fmin(box->left, across);
    box->right = fmax(box->right, across);
    box->top = fmin(box->top, down);
    box->bottom = fmax(box->bottom, down);
  }
  const double width = (double)cli->photo.width, height = (double)cli->photo.height;
  box->left = fmin(fmax(box->left, 0), width);
  box->right = fmin(fmax(box->right, 0), width);
  box->top = fmin(fmax(box->top, 0), height);
  box->bottom = fmin(fmax(box->bottom, 0), height);
}

/* The best first; of equals as the engine has them. */
static int by_score(const void *a, const void *b) {
  const cli_box *left = a, *right = b;
  if (left->image != right->image) return left->image < right->image ? -1 : 1;
  if (left->score != right->score) return left->score > right->score ? -1 : 1;
  return left->class < right->class ? -1 : left->class > right->class;
}

static int read_boxes(cli_tool *cli, hone_session *session, cli_box **out, int64_t *out_count) {
  static const char *const names[] = {"boxes", "scores", "classes", "batch_indices"};
  hone_tensor t[4];
  for (size_t i = 0; i < CLI_COUNT(names); ++i) {
    const hone_status status = find(session, names[i], &t[i]);
    if (status != HONE_OK) return cli_fail_session(cli, session, status);
  }
  const int64_t count = hone_tensor_count(&t[1]);
  cli_box *boxes = calloc((size_t)count + 1, sizeof *boxes);
  if (!boxes) {
    cli_error("out of memory");
    return CLI_EXIT_NO_MEMORY;
  }
  for (int64_t i = 0; i < count; ++i) {
    boxes[i] = (cli_box){.class = (int64_t)hone_tensor_real(&t[2], i),
                         .image = (int64_t)hone_tensor_real(&t[3], i),
                         .score = hone_tensor_real(&t[1], i),
                         .left = hone_tensor_real(&t[0], i * 4),
                         .top = hone_tensor_real(&t[0], i * 4 + 1),
                         .right = hone_tensor_real(&t[0], i * 4 + 2),
                         .bottom = hone_tensor_real(&t[0], i * 4 + 3)};
    to_photo(cli, &boxes[i]);
  }
  qsort(boxes, (size_t)count, sizeof *boxes, by_score);
  *out = boxes;
  *out_count = count;
  return CLI_EXIT_OK;
}

static void print_box(const cli_tool *cli, int64_t number, const cli_box *box, bool json) {
  char name[128];
  if (json) {
    printf("%s", number ? ", " : "");
    print_label(cli, box->class);
    printf(", \"score\": %.9g, \"box\": [%.9g, %.9g, %.9g, %.9g], \"image\": %lld}", box->score, box->left, box->top,
           box->right, box->bottom, (long long)box->image);
    return;
  }
  told_name(cli, box->class, name, sizeof name);
  printf("  %3lld. %-24s %6.4f  %8.1f %8.1f %8.1f %8.1f", (long long)number + 1, name, box->score, box->left, box->top,
         box->right, box->bottom);
  if (box->image > 0) printf("  image %lld", (long long)box->image);
  printf("\n");
}

static int give_boxes(cli_tool *cli, hone_session *session, bool json, cli_image *canvas) {
  cli_box *boxes;
  int64_t count;
  const int code = read_boxes(cli, session, &boxes, &count);
  if (code != CLI_EXIT_OK) return code;
  if (json)
    printf("\"kind\": \"boxes\", \"boxes\": [");
  else
    printf("%lld box%s: left, top, right, bottom in pixels of the %s\n", (long long)count, count == 1 ? "" : "es",
           cli->photo.pixels ? "photo" : "prepared image");
  for (int64_t i = 0; i < count; ++i) {
    print_box(cli, i, &boxes[i], json);
    char name[128];
    told_name(cli, boxes[i].class, name, sizeof name);
    if (canvas && boxes[i].image == 0) cli_draw_box(canvas, &boxes[i], name);
  }
  if (json) printf("]");
  free(boxes);
  return CLI_EXIT_OK;
}

/* ---- masks ---- */

typedef struct mask_view {
  const uint8_t *classes;
  int64_t width, height;
  double to_mask[6];
} mask_view;

static int64_t class_at(const void *user, double x, double y) {
  const mask_view *view = user;
  const double *m = view->to_mask;
  const double across = floor(m[0] * x + m[1] * y + m[2]), down = floor(m[3] * x + m[4] * y + m[5]);
  if (!(across >= 0 && down >= 0 && across < (double)view->width && down < (double)view->height)) return 0;
  return view->classes[(int64_t)down * view->width + (int64_t)across];
}

/* From the photo to the mask: the other way round than points of the prepared image go, then to the mask's extents.
 * False: the photo was made flat. */
static bool turn_round(const cli_tool *cli, mask_view *view) {
  const double *m = cli->to_photo, det = m[0] * m[4] - m[1] * m[3];
  if (det == 0) return false;
  const double across = (double)view->width / (double)cli->prepared_width / det;
  const double down = (double)view->height / (double)cli->prepared_height / det;
  const double to[6] = {m[4] * across, -m[1] * across, (m[1] * m[5] - m[4] * m[2]) * across,
                        -m[3] * down,  m[0] * down,    (m[3] * m[2] - m[0] * m[5]) * down};
  memcpy(view->to_mask, to, sizeof to);
  return true;
}

static int give_mask(cli_tool *cli, hone_session *session, bool json, cli_image *canvas) {
  hone_tensor mask;
  const hone_status status = find(session, "mask", &mask);
  if (status != HONE_OK) return cli_fail_session(cli, session, status);
  const int64_t count = hone_tensor_count(&mask);
  const uint8_t *classes = mask.data;
  int64_t pixels[256] = {0}, told = 0;
  for (int64_t i = 0; i < count; ++i) ++pixels[classes[i]];
  if (json) printf("\"kind\": \"mask\", \"classes\": [");
  for (int64_t c = 0; c < 256; ++c) {
    char name[128];
    if (pixels[c] == 0) continue;
    const double share = (double)pixels[c] / (double)count;
    if (json) {
      printf("%s", told ? ", " : "");
      print_label(cli, c);
      printf(", \"share\": %.9g}", share);
    } else {
      told_name(cli, c, name, sizeof name);
      printf("  %-24s %5.1f %% of the pixels\n", name, 100 * share);
    }
    ++told;
  }
  if (json) printf("]");
  mask_view view = {.classes = classes, .height = mask.type.shape.dim[1], .width = mask.type.shape.dim[2]};
  if (canvas && turn_round(cli, &view)) cli_draw_mask(canvas, class_at, &view);
  return CLI_EXIT_OK;
}

int cli_recipe_give(cli_tool *cli, hone_session *session, bool json) {
  static int (*const give[])(cli_tool *, hone_session *, bool, cli_image *) = {
      [HONE_RECIPE_CLASSES] = give_classes, [HONE_RECIPE_BOXES] = give_boxes, [HONE_RECIPE_MASK] = give_mask};
  const char *draw = cli_text(cli, "draw");
  if (draw && !cli->photo.pixels) return cli_usage_error(cli, "--draw: no photo was given to draw on");
  if (json) printf("\"results\": {");
  int code = give[hone_recipe_kind_of(cli->recipe)](cli, session, json, draw ? &cli->photo : NULL);
  if (json) printf("}");
  if (code == CLI_EXIT_OK && draw) code = cli_draw_write(&cli->photo, draw);
  return code;
}
