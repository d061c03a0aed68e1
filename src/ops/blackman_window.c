/* SPDX-License-Identifier: Apache-2.0 */
/* blackman_window.c - the Blackman window. */
#include "ops/common_window.h"

static hone_status eval(hone_eval *eval, const hone_window *window) {
  return hn_eval_cosine_window(eval, window, (const double[]){0.42, 0.5, 0.08});
}

const hone_op hn_op_blackman_window = {HN_WINDOW_ROW("blackman_window", "the Blackman window", "BlackmanWindow")};
