/* SPDX-License-Identifier: Apache-2.0 */
/* common_blocks.h - what the rows with blocks share: facts that cross a block's border. */
#ifndef HN_OPS_COMMON_BLOCKS_H
#define HN_OPS_COMMON_BLOCKS_H

#include "ops/op.h"

/* Block parameters [first_param, ...) are the owner's last inputs, [first_input, in_count): the same every time, so
 * that small values are known inside as well. */
void hn_params_of_captures(hone_infer *infer, int first_input, hone_fact *params, int first_param, int param_count);
/* A parameter that begins as an input and then becomes a block's result: kind and dtype of the input; its shape too,
 * except that extents which the last inference found to change have a symbol of their own. result NULL: not known. */
void hn_param_carried(hone_infer *infer, const hone_fact *initial, const hone_fact *result, hone_fact *param);
/* Output `output` is one of two facts: what they share, and fresh after-run extents where they differ. */
hone_status hn_out_either(hone_infer *infer, int output, const hone_fact *a, const hone_fact *b, const char *what);
/* A carried value must come back with the type that it began with. */
hone_status hn_infer_carried(hone_infer *infer, int output, const hone_fact *initial, const hone_fact *result);
/* The facts of block b's results; NULL before they are known. *out_count -1: one of two that never returns. */
const hone_fact *hn_block_results(const hone_infer *infer, int block, int *out_count);

#endif
