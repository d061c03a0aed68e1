/* SPDX-License-Identifier: Apache-2.0 */
/* notation.h - expressions over operators as text: op rows' `as`, rewrites' find and put.
 *
 *   roots  := expr | "(" expr ("," expr)+ ")"
 *   expr   := name ":" expr                          binds the node (or the value) to a name
 *           | name ":const"                          a value that must be a constant
 *           | op attrs? "(" args? ")"                an op; or a bound node's name: that node with other inputs
 *           | name attrs                             a bound node with other attributes and its own inputs
 *           | "any" "[" trait "]" "(" args? ")"
 *           | name | name "." number                 a bound value; the n-th output of a bound node
 *           | number                                 a scalar constant
 *           | "_"                                    an absent input
 *   attrs  := "[" name "=" value ("," name "=" value)* "]"
 *   args   := arg ("," arg)*
 *   arg    := expr | "..."                           find: any inputs; put: the bound node's own from there on
 *           | name "..."                             the rest of a variadic list, bound to a name
 *   value  := number | "text" | "[" items "]" | "$" attribute (of the composite) | name "." attribute (of a bound node)
 *   trait  := elementwise | commutes | impure | moves | after_run | blocks | aliases */
#ifndef HN_IR_NOTATION_H
#define HN_IR_NOTATION_H

#include "ir/graph.h"

typedef enum hn_term_kind {
  HN_TERM_OP,
  HN_TERM_NAME,
  HN_TERM_NUMBER,
  HN_TERM_REST,
  HN_TERM_ELLIPSIS,
  HN_TERM_ABSENT
} hn_term_kind;

typedef struct hn_term_attr {
  const char *name;
  hone_attr value;  /* kind NONE when it is a reference; a number without point or exponent is an INT */
  const char *from; /* "$axis" -> from = NULL, attr = "axis"; "c.act" -> from = "c", attr = "act" */
  const char *attr;
} hn_term_attr;

typedef struct hn_term {
  hn_term_kind kind;
  const char *name; /* bound name or NULL; for NAME and REST the name referred to or bound */
  const char *op;   /* OP: the op's name, "any", or in put a bound node's name */
  bool is_const;    /* NAME in find: must be a constant */
  bool has_args;    /* OP: false for `c[act=1]`, which keeps the node's inputs */
  int output;       /* NAME "y.1": 1 */
  double number;
  int attr_count, arg_count;
  hn_term_attr *attrs;
  struct hn_term **args;
  uint32_t trait; /* any[...] */
} hn_term;

typedef struct hn_roots {
  int count;
  hn_term **terms;
} hn_roots;

/* what: named in messages. The text may go afterwards; the terms live in the arena. */
hone_status hn_notation_parse(hn_arena *arena, hone_diagnostics *diag, const char *what, const char *text,
                              hn_roots *out);

typedef struct hn_binding {
  const char *name;
  hn_value *value; /* for a bound value, or a bound node's first output */
  hn_node *node;   /* for a bound node */
  int rest_count;  /* for "xs..." */
  hn_value *const *rest;
} hn_binding;

/* How to build the nodes of parsed `as` or `put` text. Names bound inside the text come to those given. A number takes
 * the dtype of the first input of its op that has one, f32 when there is none. */
typedef struct hn_build {
  hn_block *block;
  hn_node *before; /* new nodes go in front of it; NULL: to the block's end */
  const hn_binding *bindings;
  int binding_count;
  const hone_attrs *attrs; /* for $attribute; NULL: none. A reference to an absent attribute leaves it out. */
  hn_origins origins;
  const char *name; /* of new nodes; NULL: their ops' names */
} hn_build;

/* results[] receives one value a root. On failure the nodes made so far are removed. */
hone_status hn_notation_build(const hn_build *build, const hn_roots *roots, hn_value **results);

#endif
