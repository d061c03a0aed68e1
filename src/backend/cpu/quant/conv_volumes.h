/* SPDX-License-Identifier: Apache-2.0 */
/* conv_volumes.h - plain volumes as images: an output plane is the image of a convolution over two axes, whose channels
 * are the planes that its window reads of each channel of the volume, one after the other, as weights have them. */
#ifndef HN_BACKEND_CPU_QUANT_CONV_VOLUMES_H
#define HN_BACKEND_CPU_QUANT_CONV_VOLUMES_H

#include "backend/cpu/cpu.h"

/* Planes in bytes. out_depth 0: there are no volumes. */
typedef struct hn_cpu_volumes {
  int64_t batch, channels, out_channels, in_depth, out_depth, kernel_depth, stride, dilation, pad;
  int64_t in_plane, out_plane;
} hn_cpu_volumes;

static inline int64_t hn_cpu_volumes_read_bytes(const hn_cpu_volumes *v) {
  return v->batch * v->out_depth * v->channels * v->kernel_depth * v->in_plane;
}
static inline int64_t hn_cpu_volumes_written_bytes(const hn_cpu_volumes *v) {
  return v->batch * v->out_depth * v->out_channels * v->out_plane;
}

/* The planes of x that each output plane reads; `pad` fills those outside. */
void hn_cpu_volumes_spread(const hn_cpu_volumes *volumes, hone_stream *stream, const void *x, uint8_t pad,
                           void *planes);
/* Planes of outputs to the volume y, or those of a volume like y to planes. */
void hn_cpu_volumes_collect(const hn_cpu_volumes *volumes, hone_stream *stream, const void *planes, void *y);
void hn_cpu_volumes_part(const hn_cpu_volumes *volumes, hone_stream *stream, const void *y, void *planes);

#endif
