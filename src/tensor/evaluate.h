/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.h - calling an operator's eval so that it can be stopped. */
#ifndef HN_TENSOR_EVALUATE_H
#define HN_TENSOR_EVALUATE_H

#include "base/stop.h"
#include <hone/op.h>

struct hn_pool;

/* What an evaluation is worth: operations and elements, as the op's row says or else by the tensors' sizes. All shapes
 * are known. */
double hn_evaluation_work(const hone_op *op, const hone_attrs *attrs, const hone_fact *in, int in_count,
                          const hone_fact *out, int out_count);

/* Evaluates a window (NULL: everything) in parts of some milliseconds. When the stop (NULL: none) says so, the rest is
 * left out: ends with CANCELLED or LIMIT and a message. */
hone_status hn_evaluate(hone_eval *eval, const hone_window *window, hn_stop *stop);
/* Traits of operators whose windows several threads may evaluate at a time, each with scratch of its own. */
enum { HN_WINDOWS_INDEPENDENT = HONE_WINDOWED | HONE_ELEMENTWISE | HONE_WINDOWS_APART };
/* Everything, and windows that do not overlap, by the threads of the pool (NULL: by the caller) where the op's windows
 * are independent. scratch_step: thread t's scratch is so many bytes times t behind eval's; 0: there is one. */
hone_status hn_evaluate_all(hone_eval *eval, const struct hn_pool *pool, hn_stop *stop);
hone_status hn_evaluate_windows(hone_eval *eval, size_t scratch_step, const hone_window *windows, int count,
                                const struct hn_pool *pool, hn_stop *stop);

/* Must a long eval return early? Asked every some thousand elements by what windows do not make short. */
static inline bool hn_eval_stopped(const hone_eval *eval) { return hn_stop_now((hn_stop *)eval->stop); }
/* The same in a loop whose turns are short: asks in every 4096th. */
static inline bool hn_eval_ends(const hone_eval *eval, int64_t turn) { return hn_stop_at((hn_stop *)eval->stop, turn); }

#endif
