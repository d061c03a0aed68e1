/* SPDX-License-Identifier: Apache-2.0 */
/* conv_volumes.c - plain volumes as images: planes are copied. */
#include "backend/cpu/quant/conv_volumes.h"
#include <string.h>

typedef struct copying {
  const hn_cpu_volumes *v;
  const char *from;
  char *to;
  uint8_t pad;
  bool collects;
} copying;

static const double bytes_per_ns = 4;

/* Output planes [begin, end) of all batches. */
static void spread(void *arg, int worker, int64_t begin, int64_t end) {
  const copying *j = arg;
  const hn_cpu_volumes *v = j->v;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t batch = i / v->out_depth, first = i % v->out_depth * v->stride - v->pad;
    char *to = j->to + i * v->channels * v->kernel_depth * v->in_plane;
    for (int64_t c = 0; c < v->channels; ++c)
      for (int64_t k = 0; k < v->kernel_depth; ++k, to += v->in_plane) {
        const int64_t at = first + k * v->dilation;
        if (at < 0 || at >= v->in_depth)
          memset(to, j->pad, (size_t)v->in_plane);
        else
          memcpy(to, j->from + ((batch * v->channels + c) * v->in_depth + at) * v->in_plane, (size_t)v->in_plane);
      }
  }
}

/* Of output plane i and channel c: where it lies among planes, and in a volume. */
static int64_t place_of_plane(const hn_cpu_volumes *v, int64_t i, int64_t c) {
  return (i * v->out_channels + c) * v->out_plane;
}
static int64_t place_in_volume(const hn_cpu_volumes *v, int64_t i, int64_t c) {
  return ((i / v->out_depth * v->out_channels + c) * v->out_depth + i % v->out_depth) * v->out_plane;
}

static void move(void *arg, int worker, int64_t begin, int64_t end) {
  const copying *j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; ++i)
    for (int64_t c = 0; c < j->v->out_channels; ++c) {
      const int64_t plane = place_of_plane(j->v, i, c), volume = place_in_volume(j->v, i, c);
      memcpy(j->to + (j->collects ? volume : plane), j->from + (j->collects ? plane : volume), (size_t)j->v->out_plane);
    }
}

static void copy(const hn_cpu_volumes *v, hone_stream *stream, int64_t bytes,
                 void (*body)(void *arg, int worker, int64_t begin, int64_t end), copying *j) {
  const int64_t planes = v->batch * v->out_depth;
  hn_pool_run(hn_stream_pool(stream), planes, hn_cpu_grain(planes, (double)bytes / bytes_per_ns), body, j);
}

void hn_cpu_volumes_spread(const hn_cpu_volumes *v, hone_stream *stream, const void *x, uint8_t pad, void *planes) {
  copy(v, stream, hn_cpu_volumes_read_bytes(v), spread, &(copying){v, x, planes, pad, false});
}
void hn_cpu_volumes_collect(const hn_cpu_volumes *v, hone_stream *stream, const void *planes, void *y) {
  copy(v, stream, hn_cpu_volumes_written_bytes(v), move, &(copying){v, planes, y, 0, true});
}
void hn_cpu_volumes_part(const hn_cpu_volumes *v, hone_stream *stream, const void *y, void *planes) {
  copy(v, stream, hn_cpu_volumes_written_bytes(v), move, &(copying){v, y, planes, 0, false});
}
