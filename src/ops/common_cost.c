/* SPDX-License-Identifier: Apache-2.0 */
/* common_cost.c - costs that many rows share: one pass over inputs and outputs. */
#include "ops/op.h"

double hn_cost_bytes(const hone_fact *facts, int count) {
  double bytes = 0;
  for (int i = 0; i < count; ++i) bytes += (double)hn_bytes(&facts[i].type);
  return bytes;
}

hone_cost hn_cost_copy(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                       int out_count) {
  (void)attrs;
  return (hone_cost){.bytes_read = hn_cost_bytes(in, in_count), .bytes_written = hn_cost_bytes(out, out_count)};
}

/* Of the first input only what is selected is read. */
hone_cost hn_cost_select(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                         int out_count) {
  hone_cost cost = hn_cost_copy(attrs, in, in_count, out, out_count);
  const double whole = hn_cost_bytes(in, 1);
  if (whole > cost.bytes_written) cost.bytes_read -= whole - cost.bytes_written;
  return cost;
}

/* A fused chain tells its operations in its attribute expr; any other row counts as one for each element. */
hone_cost hn_cost_elementwise(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                              int out_count) {
  hone_cost cost = hn_cost_copy(attrs, in, in_count, out, out_count);
  const char *text = hn_attr_text(attrs, "expr");
  hn_expr expr;
  double each = 1;
  if (text[0] && hn_expr_parse(NULL, text, NULL, in_count, attrs, &expr) == HONE_OK) each = hn_expr_flops(&expr);
  int64_t elems;
  if (out_count > 0 && hn_elems_checked(&out[0].type.shape, &elems)) cost.flops = each * (double)elems;
  return cost;
}
