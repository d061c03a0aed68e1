/* SPDX-License-Identifier: Apache-2.0 */
/* hann_window.c - the Hann window. */
#include "ops/common_window.h"

static hone_status eval(hone_eval *eval, const hone_window *window) {
  return hn_eval_cosine_window(eval, window, (const double[]){0.5, 0.5, 0});
}

const hone_op hn_op_hann_window = {HN_WINDOW_ROW("hann_window", "the Hann window", "HannWindow")};
