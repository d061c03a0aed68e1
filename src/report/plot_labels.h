/* SPDX-License-Identifier: Apache-2.0 */
/* plot_labels.h - where labels of a plot go: each is tried at places around its point, the nearest first, and takes the
 * first where its box meets no point and no label that is there. */
#ifndef HN_REPORT_PLOT_LABELS_H
#define HN_REPORT_PLOT_LABELS_H

#include "base/memory.h"

typedef struct hn_plot_box {
  double x, y, width, height; /* x, y: the upper left corner */
} hn_plot_box;

typedef struct hn_plot_labels {
  hn_plot_box field; /* labels stay inside */
  int count, capacity;
  hn_plot_box *taken;
} hn_plot_labels;

bool hn_plot_boxes_meet(const hn_plot_box *a, const hn_plot_box *b);
bool hn_plot_take(hn_plot_labels *labels, hn_arena *arena, const hn_plot_box *box); /* NO_MEMORY is false */
bool hn_plot_is_free(const hn_plot_labels *labels, const hn_plot_box *box);
/* The label's nearest place to its point; true when it is so far that a line should lead there. */
bool hn_plot_lead(double x, double y, double radius, const hn_plot_box *box, double *out_x, double *out_y);
/* Finds a place for a label of this size about a point with this radius; it is not taken. False: there is none. */
bool hn_plot_place(const hn_plot_labels *labels, double x, double y, double radius, double width, double height,
                   hn_plot_box *out);

#endif
