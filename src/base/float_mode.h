/* SPDX-License-Identifier: Apache-2.0 */
/* float_mode.h - how the calling thread's arithmetic treats subnormal numbers, those below the smallest normal one
 * (1.2e-38 in f32). Processors may take a hundred times longer over them; a thread that flushes takes zero of the same
 * sign for them, as operands and as results. */
#ifndef HN_BASE_FLOAT_MODE_H
#define HN_BASE_FLOAT_MODE_H

#include <stdbool.h>
#include <stdint.h>

/* The mode's bits of the thread's control register: MXCSR's FTZ and DAZ, FPCR's FZ; always 0 elsewhere. */
typedef uint64_t hn_float_mode;
hn_float_mode hn_float_mode_get(void);
void hn_float_mode_set(hn_float_mode mode); /* rounding and exception flags stay as they are */
/* Sets whether the thread flushes and returns the mode before, for hn_float_mode_set at the end. */
hn_float_mode hn_float_mode_flush(bool flush);

#endif
