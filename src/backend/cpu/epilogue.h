/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.h - what convolution and linear layers do before they store, from attributes and inputs to kernels. */
#ifndef HN_BACKEND_CPU_EPILOGUE_H
#define HN_BACKEND_CPU_EPILOGUE_H

#include "kernels/cpu/epilogue.h"
#include "backend/cpu/cpu.h"

/* Activation, alpha and beta from the attributes act, act_alpha, act_beta; false for a name that is not known. */
bool hn_cpu_activation(const hone_attrs *attrs, hn_epilogue_f32 *out);

static inline bool hn_cpu_has_slope(const hn_epilogue_f32 *e) { return e->activation == HN_ACTIVATION_PRELU; }

/* NULL when the activation is known, bias and slopes absent or `channels` plain numbers, the residual absent or of the
 * output's shape and format. Slopes come behind the residual, and are there when the activation wants them. */
const char *hn_cpu_epilogue_check(const hone_query *query, int bias, int residual, int64_t channels);

#endif
