/* SPDX-License-Identifier: Apache-2.0 */
/* expr.h - scalar expressions of elementwise ops as verified straight-line code. The same form is written in op rows
 * (text), travels in engines (text), and is run by ref (double / int64), by the CPU's vector interpreter, and compiled
 * for GPUs. Static single assignment: instruction i defines value i and reads earlier values only.
 *
 * Text: names x0 x1 ... for inputs (or the names given to the parser), numbers, $attribute, and calls:
 *   add sub mul div mod fmod pow min max  neg abs sign recip sqrt exp log erf tanh sigmoid
 *   sin cos tan asin acos atan sinh cosh asinh acosh atanh  floor ceil round(to even)
 *   lt le gt ge eq ne  and or xor not  select(c,a,b)  isnan isinf
 *   bit_and bit_or bit_xor bit_not shift_left shift_right (integers)
 * A shared part may be written once, ahead: `t0=exp(x0);div(t0,add(t0,1))`. Printing does so, which keeps the text's
 * length linear in the number of instructions. */
#ifndef HN_TENSOR_EXPR_H
#define HN_TENSOR_EXPR_H

#include "base/diag.h"
#include "base/text.h"
#include <hone/op.h>

typedef enum hn_expr_op {
  HN_EXPR_INPUT, /* index in a */
  HN_EXPR_CONST, /* real (and its integer value) */
  HN_EXPR_ADD,
  HN_EXPR_SUB,
  HN_EXPR_MUL,
  HN_EXPR_DIV,
  HN_EXPR_MOD,
  HN_EXPR_FMOD,
  HN_EXPR_POW,
  HN_EXPR_MIN,
  HN_EXPR_MAX,
  HN_EXPR_NEG,
  HN_EXPR_ABS,
  HN_EXPR_SIGN,
  HN_EXPR_RECIP,
  HN_EXPR_SQRT,
  HN_EXPR_EXP,
  HN_EXPR_LOG,
  HN_EXPR_ERF,
  HN_EXPR_TANH,
  HN_EXPR_SIGMOID,
  HN_EXPR_SIN,
  HN_EXPR_COS,
  HN_EXPR_TAN,
  HN_EXPR_ASIN,
  HN_EXPR_ACOS,
  HN_EXPR_ATAN,
  HN_EXPR_SINH,
  HN_EXPR_COSH,
  HN_EXPR_ASINH,
  HN_EXPR_ACOSH,
  HN_EXPR_ATANH,
  HN_EXPR_FLOOR,
  HN_EXPR_CEIL,
  HN_EXPR_ROUND,
  HN_EXPR_LT,
  HN_EXPR_LE,
  HN_EXPR_GT,
  HN_EXPR_GE,
  HN_EXPR_EQ,
  HN_EXPR_NE,
  HN_EXPR_AND,
  HN_EXPR_OR,
  HN_EXPR_XOR,
  HN_EXPR_NOT,
  HN_EXPR_SELECT,
  HN_EXPR_ISNAN,
  HN_EXPR_ISINF,
  HN_EXPR_BIT_AND,
  HN_EXPR_BIT_OR,
  HN_EXPR_BIT_XOR,
  HN_EXPR_BIT_NOT,
  HN_EXPR_SHIFT_LEFT,
  HN_EXPR_SHIFT_RIGHT,
  HN_EXPR_OP_COUNT
} hn_expr_op;

#define HN_EXPR_MAX_STEPS 64 /* instructions; a longer chain is not fused */

typedef struct hn_expr_step {
  uint8_t op;
  uint8_t a, b, c; /* earlier instructions; for INPUT, a is the input's number */
  double real;     /* CONST */
  int64_t integer; /* CONST, when it is an integer, else truncated */
} hn_expr_step;

typedef struct hn_expr {
  int count; /* the last instruction is the result */
  int in_count;
  hn_expr_step steps[HN_EXPR_MAX_STEPS];
} hn_expr;

typedef struct hn_expr_row {
  const char *name;
  int arity;
  double flops; /* for cost: 1 for an add, 4 for a division, ... */
} hn_expr_row;
const hn_expr_row *hn_expr_row_of(hn_expr_op op);

/* names: the inputs' names (NULL: x0, x1, ...). attrs resolves $name (NULL: none allowed). Common subexpressions are
 * joined. MALFORMED names the column and what was expected. */
hone_status hn_expr_parse(hone_diagnostics *diag, const char *text, const char *const *names, int in_count,
                          const hone_attrs *attrs, hn_expr *out);
/* The op's own expression for a node with these inputs and attributes; optional absent inputs may not be used.
 * expr "$name" stands for the text in that attribute, over x0, x1, ... Of a row with a variadic port the expression
 * tells how x0 and x1 are joined, and is folded over all inputs from the left. */
hone_status hn_expr_of_op(hone_diagnostics *diag, const hone_op *op, const hone_attrs *attrs, int in_count,
                          hn_expr *out);
void hn_text_expr(hn_text *text, const hn_expr *expr); /* canonical text with x0, x1, ...; reads back to the same */
hone_status hn_expr_verify(hone_diagnostics *diag, const hn_expr *expr); /* INTERNAL names the first broken rule */
/* Puts inner's result in place of outer's input `at`; inner input i becomes input map[i] of the result, outer input j
 * becomes outer_map[j]. false when it would be longer than HN_EXPR_MAX_STEPS. */
bool hn_expr_inline(const hn_expr *outer, int at, const hn_expr *inner, const int *outer_map, const int *map,
                    int in_count, hn_expr *out);

double hn_expr_eval_real(const hn_expr *expr, const double *in);
/* wide_unsigned: u64 arithmetic for division, comparison and shifts; results wrap. */
int64_t hn_expr_eval_int(const hn_expr *expr, const int64_t *in, bool wide_unsigned);
/* The same for several elements at once: row i of values is instruction i's result, INPUT rows are the caller's to
 * fill. lanes <= HN_EXPR_LANES. */
enum { HN_EXPR_LANES = 32 };
void hn_expr_run_reals(const hn_expr *expr, int lanes, double (*values)[HN_EXPR_LANES]);
void hn_expr_run_ints(const hn_expr *expr, int lanes, bool wide_unsigned, int64_t (*values)[HN_EXPR_LANES]);
double hn_expr_flops(const hn_expr *expr);

#endif
