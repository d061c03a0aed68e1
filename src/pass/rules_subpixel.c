/* SPDX-License-Identifier: Apache-2.0 */
/* rules_subpixel.c - a transposed convolution whose kernel is its stride is a 1x1 convolution, each of whose outputs is
 * one tap of one channel, and a pixel shuffle (Shi et al., arXiv:1609.07009). Engines of floats have kernels for the
 * whole; bytes are multiplied by what multiplies convolutions, and shuffled as bytes. */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include "tensor/shape.h"
#include "tensor/sliding.h"

enum { RANK = 4, MOST_SIDE = 16 };

/* ---- one node becomes two ---- */

/* The kernel's side where each output pixel hears from one tap of one input pixel; 0: it is not so. */
static int64_t side_of(const hn_match *match) {
  const hn_node *c = hn_bound_node(match, "c");
  const hone_shape *x = &hn_bound_type(match, "x")->shape, *w = &hn_bound_type(match, "w")->shape;
  hn_sliding s;
  if (x->rank != RANK || w->rank != RANK || !hn_shape_known(w) || hn_elems(w) == 0) return 0;
  if (hn_attr_find(&c->attrs, "output_shape") || !hn_attr_ints_are(&c->attrs, "output_padding", 0)) return 0;
  const hone_shape one = {.rank = RANK, .dim = {1, w->dim[0], 1, 1}}; /* what a pixel becomes */
  if (hn_sliding_make_transposed(NULL, NULL, &c->attrs, &one, w->dim + 2, &s) != HONE_OK) return 0;
  const int64_t side = w->dim[2];
  for (int i = 0; i < 2; ++i)
    if (s.kernel[i] != side || s.stride[i] != side || s.dilation[i] != 1 || s.pad_begin[i] || s.pad_end[i]) return 0;
  return side >= 2 && side <= MOST_SIDE ? side : 0;
}

static const char *when_apart(const hn_match *match) {
  return side_of(match) ? NULL : "its kernel is not its stride, or it has pads";
}

/* Taps of a channel lie apart, as a shuffle in the order DCR has them: all channels of the first tap first. */
static hone_status make_apart(hn_match *match) {
  const hone_shape *w = &hn_bound_type(match, "w")->shape;
  const int64_t side = side_of(match), taps = side * side;
  const int64_t shape[RANK] = {taps * w->dim[1], w->dim[0], 1, 1};
  HN_TRY(hn_bind_list(match, "perm", RANK, (const int64_t[]){2, 3, 1, 0}));
  HN_TRY(hn_bind_list(match, "kernel", 2, (const int64_t[]){1, 1}));
  HN_TRY(hn_bind_ints(match, "shape", RANK, shape));
  HN_TRY(hn_bind_ints(match, "repeats", 1, &taps));
  return hn_bind_attr(match, &(hone_attr){.name = "side", .kind = HONE_ATTR_INT, .i = side});
}

#define APART(bias)                                                                                                    \
  "depth_to_space[blocksize=$side, mode=\"DCR\"](conv[kernel_shape=$kernel]("                                          \
  "x, reshape(transpose[perm=$perm](w), shape)" bias "))"

const hn_rewrite hn_rules_subpixel_apart[] = {{.name = "transposed_to_shuffle",
                                               .find = "c:conv_transpose[group=1, act=\"\"](x, w:const)",
                                               .put = APART(""),
                                               .when = when_apart,
                                               .make = make_apart,
                                               .why = "a convolution is multiplied in bytes, and bytes are shuffled"},
                                              {.name = "biased_transposed_to_shuffle",
                                               .find = "c:conv_transpose[group=1, act=\"\"](x, w:const, b:const)",
                                               .put = APART(", tile(b, repeats)"),
                                               .when = when_apart,
                                               .make = make_apart,
                                               .why = "a convolution is multiplied in bytes, and bytes are shuffled"},
                                              {0}};

/* ---- two nodes become one ---- */

static bool is_pointwise(const hn_node *c, const hone_shape *w) {
  const char *how = hn_attr_text(&c->attrs, "auto_pad");
  return w->rank == RANK && hn_shape_known(w) && w->dim[2] == 1 && w->dim[3] == 1 &&
         hn_attr_ints_are(&c->attrs, "strides", 1) && hn_attr_ints_are(&c->attrs, "pads", 0) &&
         (hn_name_equal(how, "NOTSET") || hn_name_equal(how, "VALID"));
}

static const char *when_whole(const hn_match *match) {
  const hone_shape *w = &hn_bound_type(match, "w")->shape;
  const int64_t side = hn_attr_int(&match->root->attrs, "blocksize"), taps = side * side;
  const hn_value *b = hn_bound(match, "same");
  if (!is_pointwise(hn_bound_node(match, "c"), w)) return "";
  if (side < 2 || side > MOST_SIDE || w->dim[0] < taps || w->dim[0] % taps) return "";
  const int64_t channels = w->dim[0] / taps;
  if (b && hn_elems(&b->fact.type.shape) != w->dim[0]) return "";
  for (int64_t i = channels; b && i < w->dim[0]; ++i)
    if (hn_real(b->fact.constant, i) != hn_real(b->fact.constant, i % channels))
      return "the bias is not the same for all pixels of a block";
  return NULL;
}

static hone_status make_whole(hn_match *match) {
  const hone_shape *w = &hn_bound_type(match, "w")->shape;
  const int64_t side = hn_attr_int(&match->root->attrs, "blocksize"), channels = w->dim[0] / (side * side);
  const int64_t sides[2] = {side, side}, shape[RANK] = {side, side, channels, w->dim[1]};
  HN_TRY(hn_bind_list(match, "strides", 2, sides));
  HN_TRY(hn_bind_list(match, "perm", RANK, (const int64_t[]){3, 2, 0, 1}));
  HN_TRY(hn_bind_ints(match, "shape", RANK, shape));
  HN_TRY(hn_bind_ints(match, "zero", 1, (const int64_t[]){0}));
  return hn_bind_ints(match, "end", 1, &channels);
}

#define WHOLE(bias)                                                                                                    \
  "conv_transpose[kernel_shape=$strides, strides=$strides](x, transpose[perm=$perm](reshape(w, shape))" bias ")"

const hn_rewrite hn_rules_subpixel[] = {
    {.name = "shuffle_to_transposed",
     .find = "depth_to_space[mode=\"DCR\"](c:conv[group=1, act=\"\"](x, w:const))",
     .put = WHOLE(""),
     .when = when_whole,
     .make = make_whole,
     .why = "the taps go where they belong: no copy of the whole output",
     .asks = true},
    {.name = "biased_shuffle_to_transposed",
     .find = "depth_to_space[mode=\"DCR\"](c:conv[group=1, act=\"\"](x, w:const, same:const))",
     .put = WHOLE(", slice(same, zero, end, zero)"),
     .when = when_whole,
     .make = make_whole,
     .why = "the taps go where they belong: no copy of the whole output",
     .asks = true},
    {0}};
