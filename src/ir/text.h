/* SPDX-License-Identifier: Apache-2.0 */
/* ir/text.h - a graph as text and back: hn_graph_parse of what hn_graph_print wrote gives the same graph.
 *
 *   graph "name" opset 17 {
 *     in %x: f32[N,3,224,224]
 *     const %w: f32[2,2] = [1, 2, 3, 4]
 *     const %big: f32[512,512] = #9f86d081884c7d65 at 0   // the bytes are beside the text, at that offset
 *     %y, %z = split(%x, %s) [axis=1] @"split_node" from("Split_3")   // f32[N,1,224,224], f32[N,2,224,224]
 *     %n: i64[2,found#0] = nonzero(%y)                     // a type where extents are known only after running
 *     %r = if(%c, %x, _) @"If_1" { (%a: f32[2]) { ... yield %b } (%a2: f32[2]) { ... yield %b2 } }
 *     %f = conv(%x, %k) [act="relu"] parts (%px: f32[1,3,8,8], %pk: f32[8,3,1,1]) { ... yield %pr }
 *     out %y as "probabilities"
 *   }
 *
 * `_` is an absent input or an output that nobody asked for, `none = op(...)` a node without outputs. Symbols come
 * first: `dim N in [1, 32]`, `dim "found#0" in [0, 100] after_run`; bounds that are not given are 0 and 2^40. Names of
 * other than letters, digits and _ . / - are quoted: %"a b"; in quoted text \u00XX is the byte XX. Constants that
 * nobody uses are not printed. In hand-written text a constant's value may also be `splat 0.5` (all elements alike) or
 * `random 7` (seed; uniform in [-1, 1), small whole numbers for integer types). A NaN with a payload and a complex
 * number are written by their bits: #7fc00001. */
#ifndef HN_IR_TEXT_H
#define HN_IR_TEXT_H

#include "ir/graph.h"

typedef struct hn_print_options {
  bool with_types;           /* a comment after each node: the types of its outputs */
  bool with_origins;         /* from("...") */
  int64_t constant_elements; /* constants of more elements are printed as their hash; 0: 64, -1: none are */
  hn_text *constant_bytes;   /* NULL, or where the bytes of those go, for hn_graph_parse */
} hn_print_options;

/* options NULL: all defaults, without origins. */
hone_status hn_graph_print(const hone_graph *graph, const hn_print_options *options, hn_text *out);

/* constant_bytes is copied. MALFORMED names line, column and what was expected; INVALID, UNSUPPORTED and MALFORMED of
 * hn_node_create are passed on as MALFORMED or UNSUPPORTED with the line; LIMIT at the context's limits. */
hone_status hn_graph_parse(hone_context *context, const char *text, size_t length, const void *constant_bytes,
                           size_t constant_byte_count, hone_graph **out);

#endif
