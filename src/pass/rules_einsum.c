/* SPDX-License-Identifier: Apache-2.0 */
/* rules_einsum.c - sums of products over named axes as the transposes, products and sums that they are: two inputs at a
 * time, batches first, then what only one of the two has. */
#include "pass/passes.h"
#include "pass/rule_help.h"
#include "tensor/einsum.h"
#include <string.h>

enum { X, Y, MOST_TEXT = 256 };

/* The labels of a product of two: in both and in the output; of x, of y; in both and summed over. */
typedef struct labels {
  int count, label[HONE_MAX_RANK];
} labels;
typedef struct product {
  hn_einsum eq;
  labels batch, left, right, summed;
  const hn_node *node;
} product;

static int place_of(const hn_einsum_term *term, int label) {
  for (int i = 0; i < term->count; ++i)
    if (term->label[i] == label) return i;
  return -1;
}

static bool repeats(const hn_einsum_term *term) {
  for (int i = 0; i < term->count; ++i)
    if (place_of(term, term->label[i]) != i) return true;
  return false;
}

/* NULL when the equation can be read and no input's diagonal is taken. */
static const char *read(const hn_match *match, hn_einsum *eq) {
  const hn_node *node = match->root;
  int ranks[HN_EINSUM_INPUTS];
  hone_diagnostics none;
  hn_diag_init(&none, NULL, 0);
  *eq = (hn_einsum){.out = {0}};
  if (node->in_count > HN_EINSUM_INPUTS) return "it has too many inputs";
  for (int i = 0; i < node->in_count; ++i) {
    ranks[i] = node->in[i]->fact.type.shape.rank;
    if (ranks[i] < 0) return "a rank is not known";
  }
  if (hn_einsum_read(&none, hn_attr_text(&node->attrs, "equation"), node->in_count, ranks, eq) != HONE_OK)
    return "its equation cannot be read";
  for (int i = 0; i < node->in_count; ++i)
    if (repeats(&eq->in[i])) return "it takes a diagonal";
  return NULL;
}

static void add(labels *list, int label) { list->label[list->count++] = label; }

/* Is the label in this input alone, and summed over? */
static bool is_alone(const hn_einsum *eq, int inputs, int input, int label) {
  if (place_of(&eq->out, label) >= 0) return false;
  for (int i = 0; i < inputs; ++i)
    if (i != input && place_of(&eq->in[i], label) >= 0) return false;
  return true;
}

static int64_t extent_of(const product *p, int label) {
  const int at = place_of(&p->eq.in[X], label);
  return at >= 0 ? p->node->in[X]->fact.type.shape.dim[at]
                 : p->node->in[Y]->fact.type.shape.dim[place_of(&p->eq.in[Y], label)];
}

static const char *read_product(const hn_match *match, product *p) {
  *p = (product){.node = match->root};
  HN_TRY_REASON(read(match, &p->eq));
  const hn_einsum_term *x = &p->eq.in[X], *y = &p->eq.in[Y];
  for (int i = 0; i < x->count; ++i) {
    const int label = x->label[i], there = place_of(y, label);
    const bool stays = place_of(&p->eq.out, label) >= 0;
    if (there < 0 && !stays) return ""; /* summed before */
    if (there >= 0 && p->node->in[X]->fact.type.shape.dim[i] != p->node->in[Y]->fact.type.shape.dim[there])
      return "an axis is spread over another";
    add(there < 0 ? &p->left : stays ? &p->batch : &p->summed, label);
  }
  for (int i = 0; i < y->count; ++i) {
    if (place_of(x, y->label[i]) >= 0) continue;
    if (place_of(&p->eq.out, y->label[i]) < 0) return "";
    add(&p->right, y->label[i]);
  }
  return NULL;
}

/* ---- permutations ---- */

static void append(labels *to, const labels *more) {
  for (int i = 0; i < more->count; ++i) add(to, more->label[i]);
}

static labels joined(const labels *a, const labels *b, const labels *c) {
  labels all = {0};
  append(&all, a);
  append(&all, b);
  append(&all, c);
  return all;
}

/* What brings the axes of a term into the order of `wanted`. */
static hone_status bind_perm(hn_match *match, const char *name, const hn_einsum_term *term, const labels *wanted) {
  int64_t perm[HONE_MAX_RANK];
  for (int i = 0; i < wanted->count; ++i) perm[i] = place_of(term, wanted->label[i]);
  return hn_bind_list(match, name, wanted->count, perm);
}

/* $left and $right put the inputs' axes in the order batch, own, summed (or summed, own), $out the result's. */
static hone_status bind_perms(hn_match *match, const product *p) {
  const labels x = joined(&p->batch, &p->left, &p->summed), y = joined(&p->batch, &p->summed, &p->right);
  const labels made = joined(&p->batch, &p->left, &p->right);
  hn_einsum_term made_term = {.count = made.count};
  labels out = {.count = p->eq.out.count};
  memcpy(made_term.label, made.label, sizeof made.label);
  memcpy(out.label, p->eq.out.label, sizeof out.label);
  HN_TRY(bind_perm(match, "left", &p->eq.in[X], &x));
  HN_TRY(bind_perm(match, "right", &p->eq.in[Y], &y));
  return bind_perm(match, "out", &made_term, &out);
}

/* ---- products of matrices ---- */

static bool is_plain_product(const product *p) {
  return p->summed.count == 1 && p->right.count == 1 && p->left.count >= 1 &&
         (p->left.count == 1 || p->batch.count == 0);
}

static const char *when_matmul(const hn_match *match) {
  product p;
  HN_TRY_REASON(read_product(match, &p));
  return is_plain_product(&p) ? NULL : "";
}

static hone_status make_matmul(hn_match *match) {
  product p;
  return read_product(match, &p) ? HONE_INTERNAL : bind_perms(match, &p);
}

/* Extents multiplied; -1 when they are not known. */
static int64_t size_of(const product *p, const labels *list) {
  int64_t size = 1;
  for (int i = 0; i < list->count; ++i) {
    const int64_t extent = extent_of(p, list->label[i]);
    if (HONE_SYMBOLIC(extent) || !hn_mul_i64(size, extent, &size)) return -1;
  }
  return size;
}

/* [batch, a, b] with what lists stand for multiplied; a batch of nothing is left out. Returns the rank. */
static int matrices(const product *p, const labels *a, const labels *b, int64_t *dim) {
  int rank = 0;
  if (p->batch.count > 0) dim[rank++] = size_of(p, &p->batch);
  dim[rank++] = size_of(p, a);
  dim[rank++] = size_of(p, b);
  return rank;
}

static int singles(const product *p, int64_t *dim) {
  const labels all = joined(&p->batch, &p->left, &p->right);
  for (int i = 0; i < all.count; ++i)
    dim[i] = HONE_SYMBOLIC(extent_of(p, all.label[i])) ? -1 : extent_of(p, all.label[i]);
  return all.count;
}

static bool is_shape(int rank, const int64_t *dim) { /* at most one extent is not known, and none is 0 */
  int unknown = 0;
  for (int i = 0; i < rank; ++i) {
    if (dim[i] == 0) return false;
    unknown += dim[i] < 0;
  }
  return unknown <= 1;
}

static const char *when_matrices(const hn_match *match) {
  product p;
  int64_t dim[HONE_MAX_RANK];
  HN_TRY_REASON(read_product(match, &p));
  if (p.summed.count == 0 || is_plain_product(&p)) return "";
  const bool fits = is_shape(matrices(&p, &p.left, &p.summed, dim), dim) &&
                    is_shape(matrices(&p, &p.summed, &p.right, dim), dim) && is_shape(singles(&p, dim), dim);
  return fits ? NULL : "several extents are not known";
}

static hone_status make_matrices(hn_match *match) {
  product p;
  int64_t dim[HONE_MAX_RANK];
  if (read_product(match, &p)) return HONE_INTERNAL;
  HN_TRY(bind_perms(match, &p));
  int rank = matrices(&p, &p.left, &p.summed, dim);
  HN_TRY(hn_bind_ints(match, "left_shape", rank, dim));
  rank = matrices(&p, &p.summed, &p.right, dim);
  HN_TRY(hn_bind_ints(match, "right_shape", rank, dim));
  rank = singles(&p, dim);
  return hn_bind_ints(match, "shape", rank, dim);
}

/* The same where several extents are not known: shapes are put together of the inputs' own. */
static const char *when_free(const hn_match *match, bool has_batch) {
  product p;
  HN_TRY_REASON(read_product(match, &p));
  return p.summed.count > 0 && !is_plain_product(&p) && (p.batch.count > 0) == has_batch ? NULL : "";
}
static const char *when_free_matrix(const hn_match *match) { return when_free(match, false); }
static const char *when_free_matrices(const hn_match *match) { return when_free(match, true); }

static hone_status bind_count(hn_match *match, const char *name, int count) {
  return hn_bind_attr(match, &(hone_attr){.name = name, .kind = HONE_ATTR_INT, .i = count});
}

/* $own: axes of x in front of those that are summed; $behind: of y up to the end of these. */
static hone_status make_free(hn_match *match) {
  product p;
  if (read_product(match, &p)) return HONE_INTERNAL;
  HN_TRY(bind_perms(match, &p));
  HN_TRY(bind_count(match, "batch", p.batch.count));
  HN_TRY(bind_count(match, "own", p.batch.count + p.left.count));
  return bind_count(match, "behind", p.batch.count + p.summed.count);
}

/* ---- products of elements ---- */

static const char *when_mul(const hn_match *match) {
  product p;
  HN_TRY_REASON(read_product(match, &p));
  return p.summed.count == 0 ? NULL : "";
}

static hone_status bind_axes(hn_match *match, const char *name, int first, int count) {
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < count; ++i) axes[i] = first + i;
  return hn_bind_ints(match, name, count, axes);
}

static hone_status make_mul(hn_match *match) {
  product p;
  if (read_product(match, &p)) return HONE_INTERNAL;
  HN_TRY(bind_perms(match, &p));
  HN_TRY(bind_axes(match, "left_axes", p.batch.count + p.left.count, p.right.count));
  return bind_axes(match, "right_axes", p.batch.count, p.left.count);
}

/* ---- sums over what only one input has ---- */

static int lone_axes(const hn_einsum *eq, int inputs, int input, int64_t *axes) {
  int count = 0;
  for (int i = 0; i < eq->in[input].count; ++i)
    if (is_alone(eq, inputs, input, eq->in[input].label[i])) axes[count++] = i;
  return count;
}

static const char *when_one(const hn_match *match) {
  hn_einsum eq;
  return read(match, &eq);
}

static hone_status make_one(hn_match *match) {
  hn_einsum eq;
  int64_t axes[HONE_MAX_RANK];
  labels out = {0};
  hn_einsum_term kept = {0};
  if (read(match, &eq)) return HONE_INTERNAL;
  for (int i = 0; i < eq.in[X].count; ++i)
    if (!is_alone(&eq, 1, X, eq.in[X].label[i])) kept.label[kept.count++] = eq.in[X].label[i];
  for (int i = 0; i < eq.out.count; ++i) add(&out, eq.out.label[i]);
  HN_TRY(hn_bind_ints(match, "axes", lone_axes(&eq, 1, X, axes), axes));
  return bind_perm(match, "out", &kept, &out);
}

/* Text of an equation whose labels may be those of an ellipsis: they get letters that are not used. */
typedef struct writer {
  char text[MOST_TEXT], letter[HN_EINSUM_LABELS];
  int length;
} writer;

static bool begin_text(const hn_einsum *eq, writer *w) {
  int next = 0;
  *w = (writer){.length = 0};
  for (int label = 0; label < HN_EINSUM_LABELS; ++label) {
    if (!eq->used[label]) continue;
    while (label >= HN_EINSUM_LETTERS && next < HN_EINSUM_LETTERS && eq->used[next]) ++next;
    if (label >= HN_EINSUM_LETTERS && next == HN_EINSUM_LETTERS) return false;
    w->letter[label] = hn_einsum_letter(label < HN_EINSUM_LETTERS ? label : next++);
  }
  return true;
}

static void write_term(writer *w, const char *before, const hn_einsum_term *term) {
  for (; *before; ++before) w->text[w->length++] = *before;
  for (int i = 0; i < term->count; ++i) w->text[w->length++] = w->letter[term->label[i]];
}

static hone_status bind_text(hn_match *match, const char *name, const writer *w) {
  return hn_bind_attr(match, &(hone_attr){.name = name, .kind = HONE_ATTR_STRING, .count = w->length, .s = w->text});
}

static const char *when_lone(const hn_match *match, int input) {
  hn_einsum eq;
  writer w;
  int64_t axes[HONE_MAX_RANK];
  HN_TRY_REASON(read(match, &eq));
  if (lone_axes(&eq, 2, input, axes) == 0) return "";
  return begin_text(&eq, &w) ? NULL : "there are no enough letters";
}
static const char *when_lone_left(const hn_match *match) { return when_lone(match, X); }
static const char *when_lone_right(const hn_match *match) { return when_lone(match, Y); }

static hone_status make_lone(hn_match *match, int input) {
  hn_einsum eq;
  writer w;
  int64_t axes[HONE_MAX_RANK];
  if (read(match, &eq) || !begin_text(&eq, &w)) return HONE_INTERNAL;
  HN_TRY(hn_bind_ints(match, "axes", lone_axes(&eq, 2, input, axes), axes));
  for (int i = X; i <= Y; ++i) {
    hn_einsum_term kept = {0};
    for (int k = 0; k < eq.in[i].count; ++k)
      if (i != input || !is_alone(&eq, 2, i, eq.in[i].label[k])) kept.label[kept.count++] = eq.in[i].label[k];
    write_term(&w, i == X ? "" : ",", &kept);
  }
  write_term(&w, "->", &eq.out);
  return bind_text(match, "equation", &w);
}
static hone_status make_lone_left(hn_match *match) { return make_lone(match, X); }
static hone_status make_lone_right(hn_match *match) { return make_lone(match, Y); }

/* ---- more than two inputs: the first two at first ---- */

/* Labels of the first two inputs that the others or the output have. */
static hn_einsum_term first_result(const hn_einsum *eq, int inputs) {
  hn_einsum_term made = {0};
  for (int i = X; i <= Y; ++i)
    for (int k = 0; k < eq->in[i].count; ++k) {
      const int label = eq->in[i].label[k];
      bool stays = place_of(&eq->out, label) >= 0;
      for (int other = 2; other < inputs; ++other) stays = stays || place_of(&eq->in[other], label) >= 0;
      if (!stays || place_of(&made, label) >= 0) continue;
      if (made.count < HONE_MAX_RANK) made.label[made.count] = label;
      ++made.count;
    }
  return made;
}

static const char *when_several(const hn_match *match) {
  hn_einsum eq;
  writer w;
  if (match->root->in_count < 3) return "";
  HN_TRY_REASON(read(match, &eq));
  if (first_result(&eq, match->root->in_count).count > HONE_MAX_RANK)
    return "what it makes on the way has too many axes";
  return begin_text(&eq, &w) ? NULL : "there are no enough letters";
}

static hone_status make_several(hn_match *match) {
  hn_einsum eq;
  writer pair, rest;
  if (read(match, &eq) || !begin_text(&eq, &pair)) return HONE_INTERNAL;
  rest = pair;
  const hn_einsum_term made = first_result(&eq, match->root->in_count);
  write_term(&pair, "", &eq.in[X]);
  write_term(&pair, ",", &eq.in[Y]);
  write_term(&pair, "->", &made);
  write_term(&rest, "", &made);
  for (int i = 2; i < match->root->in_count; ++i) write_term(&rest, ",", &eq.in[i]);
  write_term(&rest, "->", &eq.out);
  HN_TRY(bind_text(match, "pair", &pair));
  return bind_text(match, "rest", &rest);
}

/* The extents of some axes of a value multiplied, and the product of two permuted inputs as matrices of such sizes. */
#define SIZE(axes, value) "reduce_prod(shape[" axes "](" value "))"
#define JOINED(value, sizes) "reshape[allowzero=1](" value ", concat[axis=0](" sizes "))"
#define FREE_PRODUCT(left, right)                                                                                      \
  "transpose[perm=$out](reshape[allowzero=1](matmul(" JOINED("l:transpose[perm=$left](x)", left) ", " JOINED(          \
      "r:transpose[perm=$right](y)", right) "), "                                                                      \
                                            "concat[axis=0](shape[end=$own](l), shape[start=$behind](r))))"

const hn_rewrite hn_rules_einsum[] = {
    {.name = "einsum_of_several",
     .find = "einsum(x, y, more...)",
     .put = "einsum[equation=$rest](einsum[equation=$pair](x, y), more...)",
     .when = when_several,
     .make = make_several,
     .why = "a product of two at a time costs less than one of all"},
    {.name = "einsum_sums_left",
     .find = "einsum(x, y)",
     .put = "einsum[equation=$equation](reduce_sum[keepdims=0](x, axes), y)",
     .when = when_lone_left,
     .make = make_lone_left,
     .why = "what only one factor has is summed before the product"},
    {.name = "einsum_sums_right",
     .find = "einsum(x, y)",
     .put = "einsum[equation=$equation](x, reduce_sum[keepdims=0](y, axes))",
     .when = when_lone_right,
     .make = make_lone_right,
     .why = "what only one factor has is summed before the product"},
    {.name = "einsum_of_one",
     .find = "einsum(x)",
     .put = "transpose[perm=$out](reduce_sum[keepdims=0, noop_with_empty_axes=1](x, axes))",
     .when = when_one,
     .make = make_one,
     .why = "a sum over axes, in another order"},
    {.name = "einsum_as_mul",
     .find = "einsum(x, y)",
     .put = "transpose[perm=$out](mul(unsqueeze(transpose[perm=$left](x), left_axes), "
            "unsqueeze(transpose[perm=$right](y), right_axes)))",
     .when = when_mul,
     .make = make_mul,
     .why = "nothing is summed: a product of elements"},
    {.name = "einsum_as_matmul",
     .find = "einsum(x, y)",
     .put = "transpose[perm=$out](matmul(transpose[perm=$left](x), transpose[perm=$right](y)))",
     .when = when_matmul,
     .make = make_matmul,
     .why = "a product of matrices"},
    {.name = "einsum_as_matrices",
     .find = "einsum(x, y)",
     .put = "transpose[perm=$out](reshape(matmul(reshape(transpose[perm=$left](x), left_shape), "
            "reshape(transpose[perm=$right](y), right_shape)), shape))",
     .when = when_matrices,
     .make = make_matrices,
     .why = "a product of matrices, with axes joined"},
    {.name = "einsum_as_free_matrix",
     .find = "einsum(x, y)",
     .put = FREE_PRODUCT(SIZE("end=$own", "l") ", " SIZE("start=$own", "l"),
                         SIZE("end=$behind", "r") ", " SIZE("start=$behind", "r")),
     .when = when_free_matrix,
     .make = make_free,
     .why = "a product of matrices, with axes joined whose extents a run tells"},
    {.name = "einsum_as_free_matrices",
     .find = "einsum(x, y)",
     .put = FREE_PRODUCT(
         SIZE("end=$batch", "l") ", " SIZE("start=$batch, end=$own", "l") ", " SIZE("start=$own", "l"),
         SIZE("end=$batch", "r") ", " SIZE("start=$batch, end=$behind", "r") ", " SIZE("start=$behind", "r")),
     .when = when_free_matrices,
     .make = make_free,
     .why = "products of matrices, with axes joined whose extents a run tells"},
    {0}};
