/* SPDX-License-Identifier: Apache-2.0 */
/* op.h - the operator row: everything hone knows about one operator, for built-in ops and plug-ins alike.
 *
 * An op's functions see attributes, types, values and views, never nodes. Its file is src/ops/NAME.c. */
#ifndef HONE_OP_H
#define HONE_OP_H

#include <hone/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_MAX_PORTS 12
#define HONE_MAX_ATTRS 16
#define HONE_MAX_ONNX_ROWS 10
#define HONE_LATEST 1000 /* "and every later opset" */

/* Symbolic dims: a dim d with HONE_SYMBOLIC(d) stands for an expression in the graph's dim table (tensor/dims.h).
 * Plain negative numbers stay numbers, so that values such as Reshape's -1 can be carried by facts. */
#define HONE_SYMBOL_BASE (-((int64_t)1 << 62))
#define HONE_SYMBOLIC(d) ((d) <= HONE_SYMBOL_BASE && (d) > HONE_SYMBOL_BASE - ((int64_t)1 << 31))
typedef struct hone_dims hone_dims;

/* What is known about a value before anything runs. */
typedef struct hone_fact {
  hone_type type;              /* kind ABSENT: an optional input that is not given */
  const int64_t *value;        /* elements of a small integer or bool tensor (symbolic allowed), NULL if not known */
  int64_t value_count;         /* at most HONE_MAX_FACT_VALUES */
  const hone_tensor *constant; /* the whole value when it is a constant, else NULL; borrowed */
} hone_fact;
#define HONE_MAX_FACT_VALUES 256

enum {
  HONE_PORT_OPTIONAL = 1,
  HONE_PORT_VARIADIC = 2,
  HONE_PORT_PARAM = 4,   /* weights: never converted as a step */
  HONE_PORT_AS_OUT = 8,  /* laid out as the output, whatever the other inputs are: residuals */
  HONE_PORT_LENGTHS = 16 /* one whole number a sequence: how many of its rows in input 0 count */
};

/* Ports with the same letter have the same dtype; letter 0 binds nothing. A row's port list ends at name NULL.
 * An output with a letter takes the dtype bound by the inputs; without one, types names its single dtype, or infer
 * sets it. VARIADIC is allowed on the last port and stands for any number of them. */
typedef struct hone_port {
  const char *name;
  char letter;
  uint32_t types; /* set of HONE_BIT(dtype); ignored for outputs with a letter */
  uint8_t flags;
} hone_port;

enum { HONE_ATTR_REQUIRED = 1 };

/* A declared attribute. With neither REQUIRED nor a default (has_default), it may be absent. */
typedef struct hone_attr_decl {
  const char *name;
  hone_attr_kind kind;
  uint8_t flags;
  bool has_default; /* of the kinds INT, FLOAT and STRING */
  int64_t i;
  double f;
  const char *s;
} hone_attr_decl;
#define HONE_INT_ATTR(attr, value)                                                                                     \
  { .name = (attr), .kind = HONE_ATTR_INT, .has_default = true, .i = (value) }
#define HONE_FLOAT_ATTR(attr, value)                                                                                   \
  { .name = (attr), .kind = HONE_ATTR_FLOAT, .has_default = true, .f = (value) }
#define HONE_STRING_ATTR(attr, value)                                                                                  \
  { .name = (attr), .kind = HONE_ATTR_STRING, .has_default = true, .s = (value) }
#define HONE_OPTIONAL_ATTR(attr, attr_kind)                                                                            \
  { .name = (attr), .kind = (attr_kind) }
#define HONE_NEEDED_ATTR(attr, attr_kind)                                                                              \
  { .name = (attr), .kind = (attr_kind), .flags = HONE_ATTR_REQUIRED }

/* One inference: writes the facts of all outputs. out[] arrives with kind and dtype filled from the ports where the
 * row decides them, rank -1. */
typedef struct hone_infer {
  const struct hone_op *op;
  const hone_attrs *attrs;
  int in_count, out_count;
  const hone_fact *in;
  hone_fact *out;
  hone_dims *dims;
  int block_count;                       /* If, Loop, Scan: what their bodies return */
  const int *block_result_counts;        /* one a block; -1: it never returns (HONE_FAILS) */
  const hone_fact *const *block_results; /* one list a block */
  hone_diagnostics *diagnostics;
  void *arena; /* the library's own: what values of facts are allocated from */
} hone_infer;

/* What to compute: elements [first, last) of one output, flat in row-major order. eval may compute more than that,
 * never outside the output. A NULL window means everything. */
typedef struct hone_window {
  int output;
  int64_t first, last;
} hone_window;

/* One evaluation: inputs and outputs in plain format, absent inputs with data NULL and kind ABSENT.
 * Outputs whose extents are known only after running arrive with data NULL: eval calls resize once for each. */
typedef struct hone_eval {
  const struct hone_op *op;
  const hone_attrs *attrs;
  int in_count, out_count;
  const hone_tensor *in;
  hone_tensor *out;
  void *scratch; /* eval_scratch() bytes, aligned to 64 */
  hone_status (*resize)(struct hone_eval *eval, int output, int rank, const int64_t *dims);
  void *host; /* of resize's provider */
  hone_diagnostics *diagnostics;
  void *stop; /* the library's own; NULL: nothing ends it early */
  /* Memory that lives until the next run, aligned to 64, for what outputs point to: the text of strings, the elements
   * of sequences. NULL: there is none left. The function is NULL where a step has no such outputs. */
  void *(*keep)(struct hone_eval *eval, size_t bytes);
} hone_eval;

typedef struct hone_cost {
  double flops, bytes_read, bytes_written;
} hone_cost;

/* How an ONNX operator becomes this one. Opsets first..last of domain (NULL: ai.onnx) map to this row.
 * Attributes are taken by name; the texts below are space-separated lists:
 * to_input  "axes=1 k=2"   an attribute that later became an input: a constant at that position
 * set       "mode=floor"   attributes this version fixes
 * rename    "old=new"      attributes spelt otherwise
 * drop      "is_test"      attributes without meaning for inference
 * adapt     name of an adapter in import/adapt.c, for what no list can say (legacy broadcasting)
 * as        graph text for a composite: an expression over ops with the inputs' port names and $attributes */
typedef struct hone_onnx_row {
  const char *name;
  int first, last;
  const char *domain;
  const char *to_input, *set, *rename, *drop, *adapt, *as;
  bool alias; /* read, never written: exports use another row */
} hone_onnx_row;

/* Traits. */
enum {
  HONE_ELEMENTWISE = 1, /* out element = f(in elements at the broadcast position); expr says f */
  HONE_COMMUTES = 2,    /* the first two inputs may be swapped */
  HONE_IMPURE = 4,      /* random or stateful: never merged, never folded */
  HONE_MOVES = 8,       /* copies elements unchanged */
  HONE_AFTER_RUN = 16,  /* extents are known only after running */
  HONE_HAS_BLOCKS = 32,
  HONE_ALIASES = 64,    /* output 0 is input 0's bytes under another shape (reshape and its kin) */
  HONE_RUNS_ONE = 128,  /* blocks: input 0 chooses one of two */
  HONE_RUNS_LOOP = 256, /* block: run again and again, as src/ops/loop.c says */
  HONE_WHOLE = 512,     /* eval computes everything, whatever the window: steps need those before them */
  /* Many small windows cost eval hardly more than one: long evaluations can be stopped between, and several threads may
   * evaluate windows of one output at a time, as they may where it is elementwise. */
  HONE_WINDOWED = 1024,
  HONE_ANY_KIND = 4096, /* takes sequences and optionals, too, and infer says of which kind outputs are */
  HONE_FAILS = 2048,    /* ends the run with its attribute message: a block that holds it never returns */
  /* Scales and shifts channels by constants: a product in front can hold them in its weights. */
  HONE_PER_CHANNEL = 8192,
  /* Several threads may evaluate windows of one output at a time, each with scratch of its own; a small window may cost
   * as much as a large one. */
  HONE_WINDOWS_APART = 16384,
};

typedef struct hone_op {
  uint32_t struct_size;
  const char *name, *doc;
  hone_port in[HONE_MAX_PORTS], out[HONE_MAX_PORTS];
  hone_attr_decl attr[HONE_MAX_ATTRS];
  uint32_t traits;
  const char *expr; /* elementwise ops: tensor/expr text over the input names and $attributes, else NULL */
  hone_status (*infer)(hone_infer *infer);
  /* Ops with blocks: the facts of one block's parameters, before the block is inferred. */
  hone_status (*infer_params)(hone_infer *infer, int block, hone_fact *params, int param_count);
  hone_status (*eval)(hone_eval *eval, const hone_window *window); /* NULL only for blocks and regions */
  size_t (*eval_scratch)(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count); /* NULL: none */
  hone_cost (*cost)(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count);
  hone_onnx_row onnx[HONE_MAX_ONNX_ROWS]; /* ends at name NULL */
  /* What it counts to in a profile's shares, "Convolution" as an example; NULL: what the traits tell. */
  const char *report_class;
  const void *details; /* what functions that several rows share read of the row they serve (call->op); else NULL */
} hone_op;

#ifdef __cplusplus
}
#endif
#endif
