/* SPDX-License-Identifier: Apache-2.0 */
/* roi_align.c - regions of plain f32 planes, sampled on grids. */
#include "backend/cpu/cpu.h"
#include "kernels/cpu/sample/roi.h"

enum { X, ROIS, IMAGES };
/* Of a bin along an axis: the reference looks at its stop between more, a kernel does not. */
enum { MOST_SAMPLES = 1024 };
enum { UNIT_CHANNELS = 64 }; /* what a region's table is made for at least, where there are as many */
static const double ns_per_tap = 0.1, most_bytes = 1 << 28;

typedef struct row_kernel {
  hn_roi_f32_fn *run;
} row_kernel;

typedef struct state {
  hn_roi_f32_fn *run;
  hn_roi_args args;
  int64_t batch, regions, units, grain;
  size_t worker_bytes;
} state;

static const char *read(const hone_query *query, state *s) {
  HN_TRY_REASON(hn_cpu_check(query, 3, 3, 1));
  if (!hn_cpu_is(&query->in[X], HONE_F32, HONE_PLAIN) || !hn_cpu_is(&query->in[ROIS], HONE_F32, HONE_PLAIN) ||
      !hn_cpu_is(&query->in[IMAGES], HONE_I64, HONE_PLAIN) || !hn_cpu_is(&query->out[0], HONE_F32, HONE_PLAIN))
    return "it is not plain f32";
  const hone_shape *x = &query->in[X].type.shape, *rois = &query->in[ROIS].type.shape;
  const hone_shape *images = &query->in[IMAGES].type.shape, *y = &query->out[0].type.shape;
  if (x->rank != 4 || rois->rank != 2 || images->rank != 1 || y->rank != 4 || rois->dim[1] != 4 ||
      images->dim[0] != rois->dim[0] || y->dim[0] != rois->dim[0] || y->dim[1] != x->dim[1])
    return "the extents do not fit together";
  if (hn_elems(x) < 1) return "it is empty";
  if ((double)x->dim[2] * (double)x->dim[3] > INT32_MAX) return "a plane is too large";
  s->args = (hn_roi_args){.channels = x->dim[1],
                          .in_h = x->dim[2],
                          .in_w = x->dim[3],
                          .out_h = y->dim[2],
                          .out_w = y->dim[3],
                          .samples = hn_attr_int(query->attrs, "sampling_ratio"),
                          .scale = hn_attr_float(query->attrs, "spatial_scale")};
  s->args.unit_channels = hn_cpu_lesser(UNIT_CHANNELS, s->args.channels);
  s->args.is_half_pixel = hn_attr_text(query->attrs, "coordinate_transformation_mode")[0] == 'h';
  s->args.is_max = hn_attr_text(query->attrs, "mode")[0] == 'm';
  if (s->args.samples > MOST_SAMPLES) return "its sampling grid is too fine to be stopped in time";
  s->batch = x->dim[0];
  s->regions = rois->dim[0];
  const double bins = 16 + (double)y->dim[2] + (double)y->dim[3];
  if (64 * bins * ((double)x->dim[2] + (double)x->dim[3]) > most_bytes) return "it needs too much scratch memory";
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state asked = {0}, *s = memory ? memory : &asked;
  hn_roi_table table;
  HN_TRY_REASON(read(query, s));
  const double samples = s->args.samples > 0 ? (double)s->args.samples : 2;
  s->run = ((const row_kernel *)query->tactic->kernel)->run;
  s->units = hn_roi_units(&s->args, s->regions);
  s->grain = hn_cpu_grain(s->units, samples * samples * ns_per_tap * (double)hn_elems(&query->out[0].type.shape));
  s->worker_bytes = hn_roi_table_c(&s->args, NULL, &table);
  needs->state = sizeof *s;
  needs->scratch = (size_t)hn_cpu_threads(query->facts) * s->worker_bytes;
  return NULL;
}

typedef struct job {
  const state *s;
  hn_roi_args args;
  char *scratch;
} job;

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  j->s->run(&j->args, begin, end, j->scratch + (size_t)worker * j->s->worker_bytes);
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *l) {
  const state *s = memory;
  job j = {s, s->args, l->scratch};
  j.args.x = l->in[X].data;
  j.args.rois = l->in[ROIS].data;
  j.args.images = l->in[IMAGES].data;
  j.args.y = l->out[0].data;
  for (int64_t i = 0; i < s->regions; ++i) {
    hn_roi_region region;
    if (j.args.images[i] < 0 || j.args.images[i] >= s->batch)
      return HN_FAIL(l->diagnostics, HONE_MALFORMED, "batch_indices[%lld] is %lld, expected 0 to %lld", (long long)i,
                     (long long)j.args.images[i], (long long)s->batch - 1);
    if (!hn_roi_region_c(&j.args, i, &region))
      return HN_FAIL(l->diagnostics, HONE_MALFORMED, "region %lld is too large or not a number", (long long)i);
  }
  hn_pool_run(hn_stream_pool(stream), s->units, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_roi_align[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.roi_align.f32.avx512", .version = 1, .op = "roi_align", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_roi_f32_avx512}},
    {sizeof(hone_tactic), .name = "cpu.roi_align.f32.avx2", .version = 1, .op = "roi_align", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_roi_f32_avx2}},
#endif
    {sizeof(hone_tactic), .name = "cpu.roi_align.f32.c", .version = 1, .op = "roi_align", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .plan = plan, .launch = launch, .kernel = &(const row_kernel){hn_roi_f32_c}},
    {0}};
