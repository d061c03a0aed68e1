/* SPDX-License-Identifier: Apache-2.0 */
/* plot_labels.c - greedy placement: the caller asks for its most important label first. */
#include "report/plot_labels.h"
#include <math.h>

bool hn_plot_boxes_meet(const hn_plot_box *a, const hn_plot_box *b) {
  return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height && b->y < a->y + a->height;
}

bool hn_plot_take(hn_plot_labels *labels, hn_arena *arena, const hn_plot_box *box) {
  if (!hn_arena_grow(arena, (void **)&labels->taken, &labels->capacity, labels->count + 1, sizeof *labels->taken))
    return false;
  labels->taken[labels->count++] = *box;
  return true;
}

bool hn_plot_is_free(const hn_plot_labels *labels, const hn_plot_box *box) {
  const hn_plot_box *field = &labels->field;
  if (box->x < field->x || box->y < field->y || box->x + box->width > field->x + field->width ||
      box->y + box->height > field->y + field->height)
    return false;
  for (int i = 0; i < labels->count; ++i)
    if (hn_plot_boxes_meet(&labels->taken[i], box)) return false;
  return true;
}

static bool holds(const hn_plot_box *box, double x, double y) {
  return x >= box->x && x <= box->x + box->width && y >= box->y && y <= box->y + box->height;
}

/* Where the label is not beside its point, a line leads to it, which must not go behind another label or point; those
 * that lie over the point itself cannot be helped. */
static bool is_lead_free(const hn_plot_labels *labels, double x, double y, double radius, const hn_plot_box *box) {
  enum { PARTS = 12 };
  double to_x, to_y;
  if (hn_plot_lead(x, y, radius, box, &to_x, &to_y))
    for (int part = 1; part < PARTS; ++part)
      for (int i = 0; i < labels->count; ++i) {
        const double at_x = x + (to_x - x) * part / PARTS, at_y = y + (to_y - y) * part / PARTS;
        if (holds(&labels->taken[i], at_x, at_y) && !holds(&labels->taken[i], x, y)) return false;
      }
  return true;
}

bool hn_plot_lead(double x, double y, double radius, const hn_plot_box *box, double *out_x, double *out_y) {
  *out_x = fmin(fmax(x, box->x), box->x + box->width);
  *out_y = fmin(fmax(y, box->y), box->y + box->height);
  return hypot(*out_x - x, *out_y - y) > radius + 7;
}

bool hn_plot_place(const hn_plot_labels *labels, double x, double y, double radius, double width, double height,
                   hn_plot_box *out) {
  /* Sides of the point: right, left, above, below, and between them. */
  static const int sides[8][2] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}};
  for (double far = radius + 3; far < radius + 66; far += 9)
    for (int s = 0; s < 8; ++s) {
      const double reach = sides[s][0] && sides[s][1] ? 0.71 * far : far;
      const double middle_x = x + sides[s][0] * (reach + width / 2);
      const double middle_y = y + sides[s][1] * (reach + height / 2);
      *out = (hn_plot_box){middle_x - width / 2, middle_y - height / 2, width, height};
      if (hn_plot_is_free(labels, out) && is_lead_free(labels, x, y, radius, out)) return true;
    }
  return false;
}
