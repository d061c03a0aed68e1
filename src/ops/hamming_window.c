/* SPDX-License-Identifier: Apache-2.0 */
/* hamming_window.c - the Hamming window. */
#include "ops/common_window.h"

static hone_status eval(hone_eval *eval, const hone_window *window) {
  return hn_eval_cosine_window(eval, window, (const double[]){25.0 / 46, 21.0 / 46, 0});
}

const hone_op hn_op_hamming_window = {HN_WINDOW_ROW("hamming_window", "the Hamming window", "HammingWindow")};
