/* SPDX-License-Identifier: Apache-2.0 */
/* common_move.h - what the operators that move elements or compute shapes share. */
#ifndef HN_OPS_COMMON_MOVE_H
#define HN_OPS_COMMON_MOVE_H

#include "ops/op.h"

/* ---- infer ---- */
/* Output `output` has the same small value, if any, as input `input`. */
void hn_infer_keep_value(hone_infer *infer, int output, int input);
/* A small integer input that must be a scalar or hold one element: false when its value is not known as a number. */
bool hn_in_number(const hone_infer *infer, int input, int64_t *out);
/* The number of elements of a rank-1 input: -1 when not known. MALFORMED when its rank is another. */
hone_status hn_in_length(hone_infer *infer, int input, const char *what, int64_t *out);
/* Joins two extents that must be the same; a number wins over a symbol. */
hone_status hn_infer_same_dim(hone_infer *infer, int64_t a, int64_t b, const char *what, int64_t *out);
/* Normalises a list of distinct axes. */
hone_status hn_infer_axes(hone_infer *infer, const int64_t *axes, int64_t count, int rank, int *out);
/* Is the extent a number, or a symbol whose bounds exclude negative numbers? */
bool hn_dim_is_not_negative(const hone_infer *infer, int64_t dim);

/* ---- eval ---- */
/* Finds the outputs' extents now when they could not be known before. */
hone_status hn_eval_sized(hone_eval *eval);
/* The bytes of input 0 as output 0, whose number of elements must be the same. */
hone_status hn_eval_same_bytes(hone_eval *eval, const hone_window *window);
/* Reads an integer input of at most `room` elements. */
hone_status hn_eval_ints(hone_eval *eval, int input, int room, int64_t *out, int *out_count);
/* An axis attribute's or input's value in [0, rank). */
hone_status hn_eval_axis(hone_eval *eval, int64_t axis, int rank, int *out);
/* output[i] = input[base + sum of index * stride], for output elements [first, last). The caller has checked that all
 * positions lie inside. */
void hn_copy_strided(hone_eval *eval, int output, int input, int64_t base, const int64_t *strides, int64_t first,
                     int64_t last);
/* Copies count consecutive elements of the same dtype. */
void hn_copy_run(const hone_eval *eval, hone_tensor *to, int64_t to_at, const hone_tensor *from, int64_t from_at,
                 int64_t count);
/* The output's extents must be these: what symbols promised, the values must keep. */
hone_status hn_eval_expect(hone_eval *eval, int output, int rank, const int64_t *dims);
/* Reads an index in [-extent, extent - 1] and makes it non-negative; INVALID otherwise. */
hone_status hn_eval_index(hone_eval *eval, const hone_tensor *indices, int64_t at, int64_t extent, int64_t *out);

/* ---- depth_to_space, and back (src/ops/common_depth.c); details: bool, to space? ---- */
hone_status hn_infer_depth(hone_infer *infer);
hone_status hn_eval_depth(hone_eval *eval, const hone_window *window);

/* ---- what happens when an update meets the element that is there (src/ops/common_scatter.c) ---- */
/* Output 0 is data's type; checks the attribute reduction against the dtype. */
hone_status hn_infer_scatter(hone_infer *infer);
/* output[at] = reduction(output[at], update) by the attribute's name: none, add, mul, max, min. */
void hn_scatter_element(hone_eval *eval, const char *reduction, int64_t at, const hone_tensor *updates, int64_t from);

/* ---- sorted indices, without allocation and never quadratic (src/ops/common_sort.c) ---- */
/* before must be a total order (break ties by the index), so that the result does not depend on the algorithm. */
typedef bool hn_before(const void *context, int64_t a, int64_t b);
/* Writes 0 to count - 1 into indices, and sorts them. False: it was stopped, and they are in no order, or not written.
 */
bool hn_sort_indices(const hone_eval *eval, int64_t *indices, int64_t count, hn_before *before, const void *context);

#endif
