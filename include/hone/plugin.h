/* SPDX-License-Identifier: Apache-2.0 */
/* plugin.h - operators, tactics, rewrites and backends from a shared object, which exports one symbol, `hone_plugin`,
 * and links none of our libraries; and operators that a program defines by their expression. docs/PLUGINS.md is a tour.
 */
#ifndef HONE_PLUGIN_H
#define HONE_PLUGIN_H

#include <hone/backend.h>
#include <hone/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tactic for a kind of device that is there already. */
typedef struct hone_plugin_tactic {
  const char *device; /* the backend's name: "cpu" */
  const hone_tactic *tactic;
} hone_plugin_tactic;

/* What a name in a rewrite's `find` stands for in one place of a graph. */
typedef struct hone_bound {
  const char *name;
  const hone_fact *fact;   /* the value's, or that of a named node's first output; NULL: an input that is not given */
  const hone_op *op;       /* of a named node; NULL: the name stands for a value */
  const hone_attrs *attrs; /* likewise */
} hone_bound;

/* A place where `find` fits; during the call of `when` alone. */
typedef struct hone_rewrite_match {
  uint32_t struct_size;
  int bound_count;
  const hone_bound *bound;
} hone_rewrite_match;

enum { /* flags of a rewrite */
       /* The new node keeps what it stands for as its parts: it is made only where a device has a tactic for it, and
        * the tuner runs the parts instead where they are faster. Without it the old nodes are gone for good. */
       HONE_REWRITE_FUSES = 1,
       HONE_REWRITE_KEEPS = 2 /* inner nodes may have other uses, for which they stay */
};

/* A rewrite: wherever the operators of `find` stand, `put` comes in their place. Both are expressions over operators by
 * hone's names (`hone passes MODEL` prints a graph's), after constants are folded and before hone joins layers itself:
 *   find  "relu(batch_norm(c:conv(x, w:const), s:const, b:const, m:const, v:const))"
 *   put   "conv_block[pads=c.pads, strides=c.strides](x, w, s, b, m, v)"
 * In find, a name alone is any value, `w:const` one that is a constant, `c:op(...)` names a node, a number is a
 * constant of that number alone, `_` an input that is not given, `...` any further inputs, `op[axis=-1](...)` asks for
 * an attribute's value; inputs of commutative operators are tried both ways. In put, names are what they stand for in
 * find, `c.pads` is an attribute of a named node, `c(x, ...)` is that node with other inputs, and what depends on
 * constants alone is computed when the engine is built. The result must have the type and shape of what it replaces,
 * and values inside must have no other use (HONE_REWRITE_KEEPS); where that is not so the rewrite does not act, and the
 * ledger says why. */
typedef struct hone_rewrite {
  uint32_t struct_size;
  const char *name; /* in the ledger, and for `--disable`; unique */
  const char *find, *put;
  /* NULL: it holds for every match. Else NULL when it holds, or what is missing in words (static storage), which
   * `hone explain` tells; "" when the place was not meant. Must not change anything. */
  const char *(*when)(const hone_rewrite_match *match);
  const char *why; /* what it is good for */
  uint32_t flags;
} hone_rewrite;

/* What a plug-in brings; static storage in the shared object. Rows are the same types as the library's own. An op has
 * the same duties: infer and eval, attributes that its row declares (they are saved in engines), no mutable globals.
 * What a tactic needs beside its inputs and outputs is memory that plan asks for (hone_needs) and the engine owns:
 * launch allocates nothing. Outputs, scratch and packed weights are guarded while a tactic is measured against eval: a
 * write behind them ends the build, and the message names the row. */
typedef struct hone_plugin_table {
  uint32_t struct_size;
  const char *name, *version;
  const hone_op *const *ops;           /* ends with NULL; NULL: none */
  const hone_plugin_tactic *tactics;   /* ends with tactic NULL; NULL: none */
  const hone_backend *const *backends; /* ends with NULL; NULL: none */
  const hone_rewrite *const *rewrites; /* ends with NULL; NULL: none. Graphs are rewritten by all in turn, as loaded */
} hone_plugin_table;

/* The one exported symbol: `const hone_plugin_table *hone_plugin(const hone_host *host)`. NULL refuses to load. */
typedef const hone_plugin_table *(*hone_plugin_fn)(const hone_host *host);

/* Loads a plug-in for this context: models imported and engines loaded with it know its operators, devices opened with
 * it have its tactics, engines built with it are rewritten by its rewrites, and its backends can be opened by name. An
 * op or tactic named like a built-in one replaces it, an op with a built-in one's ONNX name takes that name, and the
 * log says so; built-in tactics are not asked about an op that a plug-in replaced. Until it is unloaded the shared
 * object stays loaded, also when the context is gone, since engines may outlive it. On an error nothing of it is kept.
 * Errors: IO (no such file, no shared object, one for another processor, a library that it needs is missing), INVALID
 * (no such symbol, hone_plugin() gave NULL, of another version of these headers, rows without infer, eval, launch or
 * find, an expression or a shape that contradicts eval, or two plug-ins with a row of the same name; both files are
 * named), NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_plugin_load(hone_context *context, const char *path);

/* Takes a plug-in's rows out of the context, where the built-in ones come back, and closes the shared object. path: as
 * it was loaded. Errors: INVALID (it is not loaded, or it is in use: graphs, devices or engines made with this context
 * live). */
HONE_API HONE_CHECKED hone_status hone_plugin_unload(hone_context *context, const char *path);

/* An elementwise operator that is its expression: no shared object, and engines hold the expression itself, so that
 * they run where nobody defined it. Inputs and output have one float type; shapes are broadcast. */
typedef struct hone_op_definition {
  uint32_t struct_size;
  const char *name;          /* in graphs; letters, digits and _ */
  const char *expression;    /* over the inputs' names and $attributes: "div(x, add(1, exp(neg(mul($beta, x)))))" */
  const char *const *inputs; /* their names, at most HONE_MAX_PORTS */
  int input_count;
  int attr_count;
  const hone_attr *attrs; /* of kind FLOAT or INT, with their defaults; at most HONE_MAX_ATTRS */
  const char *onnx_name;  /* NULL: models do not name it */
  const char *onnx_domain;
  const char *doc; /* NULL: none */
} hone_op_definition;

/* Defines an operator for this context. Everything is copied. An op named like a built-in one replaces it.
 * Errors: INVALID (a name is missing, given twice or no name, the expression cannot be read, a plug-in or an earlier
 * definition has the name), NO_MEMORY. */
HONE_API HONE_CHECKED hone_status hone_op_define(hone_context *context, const hone_op_definition *definition);

#ifdef __cplusplus
}
#endif
#endif
