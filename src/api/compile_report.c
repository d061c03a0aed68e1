/* SPDX-License-Identifier: Apache-2.0 */
/* compile_report.c - the list of operators, as text or JSON. */
#include "base/arguments.h"
#include "base/json.h"
#include "base/context.h"
#include "ops/registry.h"
#include "report/grid.h"
#include "report/report.h"
#include <hone/report.h>

static hone_status send(hone_context *context, const hn_text *text, hone_write_fn write, void *user) {
  if (text->failed) return HN_FAIL_MEMORY(&context->diag);
  if (write(user, hn_text_string(text), text->length)) return HONE_OK;
  return HN_FAIL(&context->diag, HONE_IO, "the report could not be written");
}

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
  hn_grid_init(&grid, arena, options, "lll", "");
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
    hn_grid_write(&grid, out);
  }
}

hone_status hone_report_operators(hone_context *context, const hone_report_options *given, hone_write_fn write,
                                  void *user) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, write);
  hone_report_options options;
  HN_TRY(hn_report_options_take(&context->diag, given, &options));
  hn_arena arena;
  hn_text text, opsets;
  hn_arena_init(&arena, context->allocator);
  hn_text_init(&text, context->allocator);
  hn_text_init(&opsets, context->allocator);
  write_operators(context->ops, &options, &arena, &text, &opsets);
  text.failed = text.failed || opsets.failed;
  const hone_status status = send(context, &text, write, user);
  hn_text_deinit(&opsets);
  hn_text_deinit(&text);
  hn_arena_deinit(&arena);
  return status;
}
