/* SPDX-License-Identifier: Apache-2.0 */
/* compile_report.c - a model's coverage before a build, and the list of operators, as text or JSON. */
#include "base/json.h"
#include "import/check.h"
#include "ops/registry.h"
#include "report/grid.h"
#include <hone/report.h>

static hone_status send(hone_context *context, const hn_text *text, hone_write_fn write, void *user) {
  if (text->failed) return HN_FAIL_MEMORY(&context->diag);
  if (write(user, hn_text_string(text), text->length)) return HONE_OK;
  return HN_FAIL(&context->diag, HONE_IO, "the report could not be written");
}

static hone_status check_options(hone_context *context, const hone_report_options **options) {
  static const hone_report_options defaults = {.struct_size = sizeof defaults};
  if (!*options) *options = &defaults;
  if ((*options)->struct_size == sizeof **options) return HONE_OK;
  return HN_FAIL(&context->diag, HONE_INVALID, "report options have struct_size %u; this library knows %zu",
                 (*options)->struct_size, sizeof **options);
}

/* ---- coverage ---- */

static void write_check_text(const hn_check *check, const char *path, bool color, hn_arena *arena, hn_text *out) {
  hn_text_printf(out, "model     %s%s%s\n", path, check->producer[0] ? ", by " : "", check->producer);
  hn_text_printf(out, "opset     %lld (IR version %lld)\n", (long long)check->opset, (long long)check->ir_version);
  hn_text_printf(out, "nodes     %lld, %lld initializers, %lld inputs, %lld outputs, %lld functions\n",
                 (long long)check->node_count, (long long)check->initializer_count, (long long)check->input_count,
                 (long long)check->output_count, (long long)check->function_count);
  hn_text_printf(out, "coverage  %lld of %lld nodes supported\n\n",
                 (long long)(check->node_count - check->unsupported_nodes), (long long)check->node_count);
  hn_grid grid;
  hn_grid_init(&grid, arena, "llrrlll");
  static const char *const heads[] = {"operator", "domain", "opset", "nodes", "supported", "first", "reason"};
  for (size_t i = 0; i < HN_COUNT(heads); ++i) hn_grid_add(&grid, "%s", heads[i]);
  for (int i = 0; i < check->row_count; ++i) {
    const hn_check_row *row = &check->rows[i];
    hn_grid_add(&grid, "%s", row->op);
    hn_grid_add(&grid, "%s", row->domain);
    hn_grid_add(&grid, "%lld", (long long)row->opset);
    hn_grid_add(&grid, "%lld", (long long)row->count);
    hn_grid_add(&grid, "%s", row->supported ? "yes" : "NO");
    hn_grid_add(&grid, "%s", row->example);
    hn_grid_add(&grid, "%s", row->reason);
  }
  hn_grid_write(&grid, color, out);
}

static void write_check_json(const hn_check *check, const char *path, hn_text *out) {
  hn_json_writer writer, *w = &writer;
  hn_json_begin(w, out);
  hn_json_open(w, NULL, '{');
  hn_json_put_text(w, "model", path);
  hn_json_put_text(w, "producer", check->producer);
  hn_json_put_text(w, "graph", check->graph_name);
  hn_json_put_int(w, "ir_version", check->ir_version);
  hn_json_put_int(w, "opset", check->opset);
  hn_json_put_int(w, "nodes", check->node_count);
  hn_json_put_int(w, "unsupported_nodes", check->unsupported_nodes);
  hn_json_open(w, "operators", '[');
  for (int i = 0; i < check->row_count; ++i) {
    const hn_check_row *row = &check->rows[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "op", row->op);
    hn_json_put_text(w, "domain", row->domain);
    hn_json_put_int(w, "opset", row->opset);
    hn_json_put_int(w, "nodes", row->count);
    hn_json_put_bool(w, "supported", row->supported);
    hn_json_put_text(w, "first", row->example);
    hn_json_put_text(w, "reason", row->reason);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
  hn_text_add(out, "\n");
}

/* The report is written in either case; then what is missing is the call's error, each in a message. */
static hone_status missing(hone_context *context, const hn_check *check) {
  hone_status status = HONE_OK;
  for (int i = 0; i < check->row_count; ++i) {
    const hn_check_row *row = &check->rows[i];
    if (!row->supported)
      status = HN_FAIL(&context->diag, HONE_UNSUPPORTED, "%s (%s, opset %lld), first in %s: %s", row->op, row->domain,
                       (long long)row->opset, row->example, row->reason);
  }
  return status;
}

hone_status hone_report_check(hone_context *context, const char *onnx_path, const hone_report_options *options,
                              hone_write_fn write, void *user) {
  if (!context) return HONE_INVALID;
  if (!onnx_path || !write) return HN_FAIL(&context->diag, HONE_INVALID, "onnx_path and write must be given");
  HN_TRY(check_options(context, &options));
  hn_check check;
  HN_TRY(hn_check_onnx(context, onnx_path, &check));
  hn_text text;
  hn_text_init(&text, context->allocator);
  if (options->json)
    write_check_json(&check, onnx_path, &text);
  else
    write_check_text(&check, onnx_path, options->color, &check.arena, &text);
  hone_status status = send(context, &text, write, user);
  if (status == HONE_OK) status = missing(context, &check);
  hn_text_deinit(&text);
  hn_check_deinit(&check);
  return status;
}

/* ---- operators ---- */

static void put_opsets(const hone_op *op, hn_text *out) {
  hn_text_clear(out);
  for (int i = 0; i < HONE_MAX_ONNX_ROWS && op->onnx[i].name; ++i) {
    const hone_onnx_row *row = &op->onnx[i];
    hn_text_printf(out, "%s%s%s%s %d", i ? ", " : "", row->domain ? row->domain : "", row->domain ? "." : "", row->name,
                   row->first);
    if (row->last == HONE_LATEST)
      hn_text_add(out, "+");
    else if (row->last != row->first)
      hn_text_printf(out, "-%d", row->last);
  }
}

static void write_operators(const hn_op_list *ops, const hone_report_options *options, hn_arena *arena, hn_text *out,
                            hn_text *opsets) {
  hn_json_writer writer, *w = &writer;
  hn_grid grid;
  hn_grid_init(&grid, arena, "lll");
  hn_grid_add(&grid, "operator");
  hn_grid_add(&grid, "from ONNX, opsets");
  hn_grid_add(&grid, "what it does");
  hn_json_begin(w, out);
  if (options->json) hn_json_open(w, NULL, '[');
  for (int i = 0; i < ops->count; ++i) {
    const hone_op *op = ops->rows[i];
    put_opsets(op, opsets);
    if (options->json) {
      hn_json_open_flat(w, NULL, '{');
      hn_json_put_text(w, "name", op->name);
      hn_json_put_text(w, "onnx", hn_text_string(opsets));
      hn_json_put_text(w, "doc", op->doc);
      hn_json_close(w, '}');
    } else {
      hn_grid_add(&grid, "%s", op->name);
      hn_grid_add(&grid, "%s", hn_text_string(opsets));
      hn_grid_add(&grid, "%s", op->doc);
    }
  }
  if (options->json) {
    hn_json_close(w, ']');
    hn_text_add(out, "\n");
  } else {
    hn_grid_write(&grid, options->color, out);
  }
}

hone_status hone_report_operators(hone_context *context, const hone_report_options *options, hone_write_fn write,
                                  void *user) {
  if (!context) return HONE_INVALID;
  if (!write) return HN_FAIL(&context->diag, HONE_INVALID, "write must be given");
  HN_TRY(check_options(context, &options));
  hn_arena arena;
  hn_text text, opsets;
  hn_arena_init(&arena, context->allocator);
  hn_text_init(&text, context->allocator);
  hn_text_init(&opsets, context->allocator);
  write_operators(context->ops, options, &arena, &text, &opsets);
  text.failed = text.failed || opsets.failed;
  const hone_status status = send(context, &text, write, user);
  hn_text_deinit(&opsets);
  hn_text_deinit(&text);
  hn_arena_deinit(&arena);
  return status;
}
