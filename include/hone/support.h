/* SPDX-License-Identifier: Apache-2.0 */
/* support.h - what of a model runs here, node by node: for programs that give parts of a model to hone. */
#ifndef HONE_SUPPORT_H
#define HONE_SUPPORT_H

#include <hone/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hone_support {
  HONE_SUPPORT_KERNEL,    /* it runs by kernels, or is folded away: nodes that see() is not told of */
  HONE_SUPPORT_REFERENCE, /* it has no kernel for these types and shapes: the slow reference would run it */
  HONE_SUPPORT_NONE       /* it is refused */
} hone_support;

/* node: its name in the model, or "Op_index". reason: why it is refused; "" for the reference. Valid during the call.
 */
typedef void (*hone_support_fn)(void *user, const char *node, hone_support support, const char *reason);

/* Would these nodes run on a CPU like this one, and not on the reference? Reads the model as a build does, and builds
 * it on paper: nothing is timed, run or written.
 *
 * shapes   of inputs with free dims, which are asked about: the opt of profile 0; 1 for free dims without
 * Cost     milliseconds to a second
 * Errors   UNSUPPORTED and MALFORMED when nodes are refused: see() was told of those that the messages name; what lies
 *          behind them may not have been looked at, so ask again without them. INVALID when the model can be read, but
 *          layers refuse these shapes: which nodes the reference would run is not known then. The others as reading and
 *          building have them. */
HONE_API HONE_CHECKED hone_status hone_onnx_support(hone_context *context, const hone_onnx_source *source,
                                                    const hone_profile_shape *shapes, int shape_count,
                                                    hone_support_fn see, void *user);

#ifdef __cplusplus
}
#endif
#endif
