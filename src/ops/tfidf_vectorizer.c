/* SPDX-License-Identifier: Apache-2.0 */
/* tfidf_vectorizer.c - how often the n-grams of a pool stand in each row of numbers or words, their elements up to
 * max_skip_count + 1 apart; counted (TF), weighted where there is one (IDF), or both. Source: the ONNX operator. */
#include "ops/common_move.h"
#include "tensor/element.h"
#include <string.h>

typedef struct pool {
  const hone_attr *words, *numbers; /* one of them */
  const int64_t *starts, *indexes;
  const double *weights;
  int start_count, index_count;
  int64_t size; /* entries */
} pool;

static pool pool_of(const hone_attrs *attrs) {
  pool p = {.words = hn_attr_find(attrs, "pool_strings"), .numbers = hn_attr_find(attrs, "pool_int64s")};
  const hone_attr *weights = hn_attr_find(attrs, "weights");
  p.start_count = hn_attr_ints(attrs, "ngram_counts", &p.starts);
  p.index_count = hn_attr_ints(attrs, "ngram_indexes", &p.indexes);
  p.weights = weights ? weights->floats : NULL;
  p.size = p.words ? p.words->count : p.numbers ? p.numbers->count : 0;
  return p;
}

/* Entries of the n-grams of `n`: [*first, *last), of which the first is number *number of all n-grams. */
static void range_of(const pool *p, int n, int64_t *first, int64_t *last, int64_t *number) {
  *number = 0;
  for (int k = 1; k <= n; ++k) {
    *first = p->starts[k - 1];
    *last = k < p->start_count ? p->starts[k] : p->size;
    if (k < n) *number += (*last - *first) / k;
  }
}

static hone_status check_pool(hone_infer *infer, const pool *p) {
  const hone_attr *weights = hn_attr_find(infer->attrs, "weights");
  int64_t grams = 0;
  if ((p->words != NULL) == (p->numbers != NULL))
    return HN_INFER_FAIL(infer, "it needs pool_strings or pool_int64s, and not both");
  for (int k = 1; k <= p->start_count; ++k) {
    const int64_t first = p->starts[k - 1], last = k < p->start_count ? p->starts[k] : p->size;
    if (first < 0 || last < first || last > p->size || (last - first) % k != 0)
      return HN_INFER_FAIL(infer, "ngram_counts[%d] does not fit the pool of %lld", k - 1, (long long)p->size);
    grams += (last - first) / k;
  }
  if (grams != p->index_count)
    return HN_INFER_FAIL(infer, "ngram_indexes has %d entries, and the pool %lld n-grams", p->index_count,
                         (long long)grams);
  if (weights && weights->count != p->index_count)
    return HN_INFER_FAIL(infer, "weights has %lld entries; it must have %d", (long long)weights->count, p->index_count);
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  const pool p = pool_of(infer->attrs);
  const int rank = hn_in_rank(infer, 0);
  const int64_t low = hn_attr_int(infer->attrs, "min_gram_length"), high = hn_attr_int(infer->attrs, "max_gram_length");
  const char *mode = hn_attr_text(infer->attrs, "mode");
  int64_t width = 0;
  if (strcmp(mode, "TF") != 0 && strcmp(mode, "IDF") != 0 && strcmp(mode, "TFIDF") != 0)
    return HN_INFER_FAIL(infer, "mode is \"%.20s\"; allowed are TF, IDF and TFIDF", mode);
  HN_TRY(check_pool(infer, &p));
  if (low < 1 || high < low || high > p.start_count)
    return HN_INFER_FAIL(infer, "n-grams of %lld to %lld elements, and ngram_counts has %d entries", (long long)low,
                         (long long)high, p.start_count);
  if (hn_attr_int(infer->attrs, "max_skip_count") < 0) return HN_INFER_FAIL(infer, "max_skip_count is negative");
  if ((infer->in[0].type.dtype == HONE_STRING) != (p.words != NULL))
    return HN_INFER_FAIL(infer, "its input and its pool have other types");
  for (int i = 0; i < p.index_count; ++i) {
    if (p.indexes[i] < 0 || p.indexes[i] >= INT32_MAX)
      return HN_INFER_FAIL(infer, "ngram_indexes[%d] is out of range", i);
    if (p.indexes[i] >= width) width = p.indexes[i] + 1;
  }
  if (rank < 0) return HONE_OK;
  if (rank > 2) return HN_INFER_FAIL(infer, "its input has rank %d; at most 2 is allowed", rank);
  const int64_t rows = rank == 2 ? hn_in_shape(infer, 0)->dim[0] : 1;
  hn_out_shape(infer, 0, rank == 2 ? 2 : 1, rank == 2 ? (int64_t[]){rows, width} : (int64_t[]){width});
  return HONE_OK;
}

static bool is_entry(const hone_tensor *x, int64_t at, const pool *p, int64_t entry) {
  if (!p->words) return hn_int(x, at) == p->numbers->ints[entry];
  const hone_string *text = (const hone_string *)x->data + at;
  return strlen(p->words->strings[entry]) == text->length &&
         memcmp(p->words->strings[entry], text->data, text->length) == 0;
}

/* How often the n-gram of entries from `entry` on stands in the row, its elements each `step` apart. */
static int64_t occurrences(const hone_tensor *x, int64_t begin, int64_t length, const pool *p, int64_t entry, int n,
                           int64_t step) {
  int64_t found = 0;
  for (int64_t at = 0; at + (n - 1) * step < length; ++at) {
    int k = 0;
    while (k < n && is_entry(x, begin + at + k * step, p, entry + k)) ++k;
    found += k == n;
  }
  return found;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  HN_TRY(hn_eval_sized(eval));
  const pool p = pool_of(eval->attrs);
  const hone_tensor *x = &eval->in[0];
  const hone_shape *shape = &x->type.shape;
  const int64_t rows = shape->rank == 2 ? shape->dim[0] : 1,
                length = shape->rank == 0 ? 1 : shape->dim[shape->rank - 1];
  const int64_t width = eval->out[0].type.shape.dim[eval->out[0].type.shape.rank - 1];
  const int low = (int)hn_attr_int(eval->attrs, "min_gram_length"),
            high = (int)hn_attr_int(eval->attrs, "max_gram_length");
  const int64_t skips = hn_attr_int(eval->attrs, "max_skip_count");
  const char *mode = hn_attr_text(eval->attrs, "mode");
  for (int64_t i = 0; i < rows * width; ++i) hn_store_real(&eval->out[0], i, 0);
  for (int n = low; n <= high; ++n) {
    int64_t first, last, number;
    range_of(&p, n, &first, &last, &number);
    for (int64_t entry = first; entry < last; entry += n, ++number)
      for (int64_t row = 0; row < rows; ++row) {
        int64_t found = 0;
        for (int64_t step = 1; step <= (n == 1 ? 1 : skips + 1); ++step)
          found += occurrences(x, row * length, length, &p, entry, n, step);
        if (found == 0) continue;
        const double weight = p.weights ? p.weights[number] : 1;
        hn_store_real(&eval->out[0], row * width + p.indexes[number],
                      mode[0] == 'I' ? weight : (double)found * (mode[2] == 'I' ? weight : 1));
      }
  }
  return HONE_OK;
}

const hone_op hn_op_tfidf_vectorizer = {
    .struct_size = sizeof(hone_op),
    .name = "tfidf_vectorizer",
    .doc = "how often n-grams stand in rows",
    .in = {{"x", 0, HONE_BIT(HONE_STRING) | HONE_TYPES_INDEX}},
    .out = {{"y", 0, HONE_BIT(HONE_F32)}},
    .attr = {HONE_NEEDED_ATTR("max_gram_length", HONE_ATTR_INT), HONE_NEEDED_ATTR("max_skip_count", HONE_ATTR_INT),
             HONE_NEEDED_ATTR("min_gram_length", HONE_ATTR_INT), HONE_NEEDED_ATTR("mode", HONE_ATTR_STRING),
             HONE_NEEDED_ATTR("ngram_counts", HONE_ATTR_INTS), HONE_NEEDED_ATTR("ngram_indexes", HONE_ATTR_INTS),
             HONE_OPTIONAL_ATTR("pool_int64s", HONE_ATTR_INTS), HONE_OPTIONAL_ATTR("pool_strings", HONE_ATTR_STRINGS),
             HONE_OPTIONAL_ATTR("weights", HONE_ATTR_FLOATS)},
    .traits = HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_select,
    .onnx = {{"TfIdfVectorizer", 9, HONE_LATEST}},
};
