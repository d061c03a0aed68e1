/* SPDX-License-Identifier: Apache-2.0 */
/* string_split.c - texts cut at a delimiter, or at white space where there is none, at most maxsplit times. The parts
 * stand along a new last axis, filled up with empty texts; how many there are is the second output. */
#include "ops/common_move.h"
#include "tensor/element.h"
#include <string.h>

typedef struct cutter {
  const char *at, *end, *delimiter;
  size_t length;
  int64_t cuts_left; /* -1: as many as there are */
  bool ended;
} cutter;

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static cutter begin(const hone_attrs *attrs, const hone_string *text) {
  cutter c = {.at = text->data, .end = text->data + text->length, .delimiter = hn_attr_text(attrs, "delimiter")};
  c.length = strlen(c.delimiter);
  c.cuts_left = hn_attr_has(attrs, "maxsplit") ? hn_attr_int(attrs, "maxsplit") : -1;
  return c;
}

static const char *find(const cutter *c) {
  for (const char *at = c->at; (size_t)(c->end - at) >= c->length; ++at)
    if (memcmp(at, c->delimiter, c->length) == 0) return at;
  return NULL;
}

/* The next part; false: there is none. The last cut leaves the rest as it is. */
static bool next_part(cutter *c, hone_string *out) {
  const bool by_space = c->length == 0;
  if (by_space)
    while (c->at < c->end && is_space(*c->at)) ++c->at;
  if (c->ended || (by_space && c->at == c->end)) return false;
  const char *stop = NULL;
  if (c->cuts_left != 0 && by_space) {
    for (stop = c->at; stop < c->end && !is_space(*stop);) ++stop;
    if (stop == c->end) stop = NULL;
  } else if (c->cuts_left != 0 && c->at) {
    stop = find(c);
  }
  c->ended = !stop;
  *out = (hone_string){c->at, (size_t)((stop ? stop : c->end) - c->at)};
  if (stop) c->at = stop + (by_space ? 1 : c->length);
  if (c->cuts_left > 0) --c->cuts_left;
  return true;
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t dims[HONE_MAX_RANK];
  if (rank < 0) return HONE_OK;
  if (rank >= HONE_MAX_RANK) return HN_INFER_UNSUPPORTED(infer, "its output would have rank %d", rank + 1);
  memcpy(dims, hn_in_shape(infer, 0)->dim, sizeof dims);
  hn_out_shape(infer, 1, rank, dims);
  dims[rank] = hn_dim_fresh(infer->dims, "parts", true, INT64_MAX);
  hn_out_shape(infer, 0, rank + 1, dims);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window;
  const hone_string *x = eval->in[0].data;
  const int64_t count = hn_elems(&eval->in[0].type.shape);
  hone_shape shape = eval->in[0].type.shape;
  int64_t most = 0;
  hone_string part;
  if (!eval->out[1].data) HN_TRY(eval->resize(eval, 1, shape.rank, shape.dim));
  for (int64_t i = 0; i < count; ++i) {
    int64_t parts = 0;
    for (cutter c = begin(eval->attrs, &x[i]); next_part(&c, &part);) ++parts;
    hn_store_int(&eval->out[1], i, parts);
    if (parts > most) most = parts;
  }
  shape.dim[shape.rank++] = most;
  if (!eval->out[0].data) HN_TRY(eval->resize(eval, 0, shape.rank, shape.dim));
  HN_TRY(hn_eval_expect(eval, 0, shape.rank, shape.dim));
  hone_string *to = eval->out[0].data;
  for (int64_t i = 0; i < count; ++i) {
    int64_t parts = 0;
    for (cutter c = begin(eval->attrs, &x[i]); next_part(&c, &part);) { /* of its own: the input may be gone later */
      char *text = eval->keep ? eval->keep(eval, part.length ? part.length : 1) : NULL;
      if (!text) return HN_FAIL(eval->diagnostics, HONE_LIMIT, "the heap of the session has no room for its parts");
      if (part.length) memcpy(text, part.data, part.length);
      to[i * most + parts++] = (hone_string){text, part.length};
    }
    for (; parts < most; ++parts) to[i * most + parts] = (hone_string){"", 0};
  }
  return HONE_OK;
}

const hone_op hn_op_string_split = {
    .struct_size = sizeof(hone_op),
    .name = "string_split",
    .doc = "texts cut into parts",
    .in = {{"x", 0, HONE_BIT(HONE_STRING)}},
    .out = {{"y", 0, HONE_BIT(HONE_STRING)}, {"z", 0, HONE_BIT(HONE_I64)}},
    .attr = {HONE_STRING_ATTR("delimiter", ""), HONE_OPTIONAL_ATTR("maxsplit", HONE_ATTR_INT)},
    .traits = HONE_AFTER_RUN | HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{"StringSplit", 20, HONE_LATEST}},
};
