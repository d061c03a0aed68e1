/* SPDX-License-Identifier: Apache-2.0 */
/* common_cast.h - conversion between element types, shared by cast and cast_like. */
#ifndef HN_OPS_COMMON_CAST_H
#define HN_OPS_COMMON_CAST_H

#include "ops/op.h"

/* Sets output 0's type to dtype and input 0's shape; refuses what has no conversion here. */
hone_status hn_infer_cast(hone_infer *infer, hone_dtype dtype);
/* Converts input 0 to output 0's dtype; reads the attributes saturate and round_mode. */
hone_status hn_eval_cast(hone_eval *eval, const hone_window *window);

#endif
