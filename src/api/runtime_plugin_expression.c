/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_plugin_expression.c - a plug-in's operator says what it does twice: in eval and in its expression. Kernels
 * are made of the expression, alone or in a chain with others whose reference is the chain's expression again, so that
 * a wrong one would be measured against itself. Both are held against each other on samples when the plug-in is loaded.
 */
#include "api/plugin.h"
#include "base/random.h"
#include "ops/op.h"
#include "ops/ports.h"
#include "tensor/attrs.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <stdio.h>

enum { SAMPLES = 64, TURNS = 2 };

typedef struct trial {
  hone_context *context;
  const hone_op *op;
  hn_arena arena;
  hone_attrs attrs;
  int in_count;
  hone_fact facts[HONE_MAX_PORTS + 1], out_facts[HONE_MAX_PORTS];
  hone_tensor in[HONE_MAX_PORTS + 1], by_eval, by_expression;
  bool misshapen; /* infer gave the output another shape than an elementwise operator's */
} trial;

/* An element type that the port takes; the likeliest first. */
static hone_dtype dtype_of(const hone_port *port) {
  static const hone_dtype order[] = {HONE_F32, HONE_F64, HONE_F16, HONE_BF16, HONE_I64,
                                     HONE_I32, HONE_I16, HONE_I8,  HONE_U8,   HONE_BOOL};
  for (size_t i = 0; i < HN_COUNT(order); ++i)
    if (port->types & HONE_BIT(order[i])) return order[i];
  return HONE_NONE;
}

/* The defaults; in the second turn other numbers. Attributes that are needed and no numbers: false. */
static bool make_attrs(trial *t, int turn) {
  hone_attr given[HONE_MAX_ATTRS];
  int count = 0;
  for (int i = 0; i < HONE_MAX_ATTRS && t->op->attr[i].name; ++i) {
    const hone_attr_decl *decl = &t->op->attr[i];
    const bool needed = decl->flags & HONE_ATTR_REQUIRED;
    if (turn == 0 && !needed) continue;
    if (decl->kind == HONE_ATTR_FLOAT)
      given[count++] = (hone_attr){.name = decl->name, .kind = decl->kind, .f = 0.75 * decl->f + 0.375};
    else if (decl->kind == HONE_ATTR_INT)
      given[count++] = (hone_attr){.name = decl->name, .kind = decl->kind, .i = decl->i + 1};
    else if (needed)
      return false;
  }
  const hone_attrs list = {.count = count, .items = given};
  return hn_attrs_complete(&t->arena, NULL, t->op, &list, &t->attrs) == HONE_OK;
}

static bool new_tensor(trial *t, const hone_type *type, hone_tensor *out) {
  size_t bytes;
  if (!hn_type_bytes(type, &bytes)) return false;
  *out = (hone_tensor){.type = *type, .data = hn_arena_zero(&t->arena, 1, bytes + 1), .bytes = bytes};
  return out->data != NULL;
}

/* Around the numbers where operators bend, then anywhere near. */
static bool make_inputs(trial *t) {
  static const double corners[] = {0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 6, 7.5, -7.5, 20, -20, 100, -100};
  const int64_t dims[] = {SAMPLES};
  for (int i = 0; i < HONE_MAX_PORTS && t->op->in[i].name; ++i) {
    const hone_port *port = &t->op->in[i];
    if (port->flags & HONE_PORT_OPTIONAL) break;
    t->in_count += port->flags & HONE_PORT_VARIADIC ? 2 : 1;
  }
  for (int i = 0; i < t->in_count; ++i) {
    const hone_port *port = hn_port_at(t->op->in, i);
    const hone_type type = hn_tensor_type(port ? dtype_of(port) : HONE_NONE, 1, dims);
    hn_random random = {.state = 77 + (uint64_t)i};
    if (type.dtype == HONE_NONE || !new_tensor(t, &type, &t->in[i])) return false;
    for (int64_t k = 0; k < SAMPLES; ++k) {
      const double drawn = (double)(hn_random_u64(&random) % 8001) / 1000 - 4;
      const int64_t corner = (k + 3 * i) % SAMPLES; /* pairs that differ */
      const double value = corner < (int64_t)HN_COUNT(corners) ? corners[corner] : drawn;
      hn_store_real(&t->in[i], k, hn_dtype_is_unsigned(type.dtype) ? fabs(value) : value);
    }
    t->facts[i] = (hone_fact){.type = type};
  }
  return t->in_count > 0;
}

/* All inputs have SAMPLES elements. */
static bool is_sample_shape(trial *t) {
  const hone_shape *shape = &t->out_facts[0].type.shape;
  t->misshapen = shape->rank != 1 || shape->dim[0] != SAMPLES;
  return !t->misshapen;
}

static hone_status tell_shape(const trial *t, const char *path) {
  char given[HONE_MAX_RANK * 22 + 1];
  const hone_shape *shape = &t->out_facts[0].type.shape;
  size_t length = 0;
  given[0] = 0;
  for (int i = 0; i < shape->rank && i < HONE_MAX_RANK; ++i)
    length +=
        (size_t)snprintf(given + length, sizeof given - length, "%s%lld", i ? ", " : "", (long long)shape->dim[i]);
  return HN_FAIL(&t->context->diag, HONE_INVALID,
                 "%s: operator %s is elementwise, but its infer makes [%s] of inputs of [%d]", path, t->op->name, given,
                 SAMPLES);
}

static bool make_output(trial *t) {
  hone_dims dims;
  int out_count = 0;
  while (out_count < HONE_MAX_PORTS && t->op->out[out_count].name) ++out_count;
  hone_infer infer = {.op = t->op,
                      .attrs = &t->attrs,
                      .in_count = t->in_count,
                      .out_count = out_count,
                      .in = t->facts,
                      .out = t->out_facts};
  return out_count == 1 && hn_extents_infer(&infer, &t->arena, &dims) == HONE_OK && is_sample_shape(t) &&
         new_tensor(t, &t->out_facts[0].type, &t->by_eval) && new_tensor(t, &t->out_facts[0].type, &t->by_expression);
}

static bool run(trial *t, hone_status (*eval)(hone_eval *eval, const hone_window *window), hone_tensor *out) {
  const hone_op *op = t->op;
  const size_t bytes = op->eval_scratch ? op->eval_scratch(&t->attrs, t->facts, t->in_count, t->out_facts, 1) : 0;
  hone_eval call = {.op = op,
                    .attrs = &t->attrs,
                    .in_count = t->in_count,
                    .out_count = 1,
                    .in = t->in,
                    .out = out,
                    .scratch = hn_arena_alloc(&t->arena, bytes ? bytes : 1, 64)};
  return call.scratch && eval(&call, NULL) == HONE_OK;
}

static double tolerance(hone_dtype dtype) {
  return dtype == HONE_F16 ? 5e-3 : dtype == HONE_BF16 ? 4e-2 : hn_dtype_is_float(dtype) ? 1e-4 : 0;
}

/* INVALID at the first sample where they differ. */
static hone_status compare(const trial *t, const char *path) {
  const double most = tolerance(t->by_eval.type.dtype);
  for (int64_t k = 0; k < SAMPLES; ++k) {
    const double a = hn_real(&t->by_expression, k), b = hn_real(&t->by_eval, k);
    if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= most * fmax(1, fabs(b))) continue;
    return HN_FAIL(
        &t->context->diag, HONE_INVALID,
        "%s: operator %s: where its first input is %g, its expression gives %g and its eval %g; they must say "
        "the same",
        path, t->op->name, hn_real(&t->in[0], k), a, b);
  }
  return HONE_OK;
}

hone_status hn_plugin_check_expression(hone_context *context, const char *path, const hone_op *op) {
  int compared = 0;
  hone_status status = HONE_OK;
  if (!op->expr || !(op->traits & HONE_ELEMENTWISE)) return HONE_OK;
  for (int turn = 0; turn < TURNS && status == HONE_OK; ++turn) {
    trial t = {.context = context, .op = op};
    hn_arena_init(&t.arena, context->allocator);
    if (make_attrs(&t, turn) && make_inputs(&t) && make_output(&t) && run(&t, op->eval, &t.by_eval) &&
        run(&t, hn_eval_expr, &t.by_expression)) {
      status = compare(&t, path);
      ++compared;
    }
    if (t.misshapen) status = tell_shape(&t, path);
    hn_arena_deinit(&t.arena);
  }
  if (!compared && status == HONE_OK)
    hn_log(context, HONE_LOG_WARN, "%s: operator %s: its expression could not be compared with its eval", path,
           op->name);
  return status;
}
