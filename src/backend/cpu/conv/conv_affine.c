/* SPDX-License-Identifier: Apache-2.0 */
/* conv_affine.c - 1x1 convolution of blocked activations that are scaled, shifted and rectified on their way in, as
 * layers with the normalisation in front have it (He et al., arXiv:1603.05027). A unit is a run of pixels: its input
 * goes through scratch memory that stays in the inner caches, then all output channels read it there. Packed are the
 * weights, the bias, the slopes of the activation, scale and shift. */
#include "kernels/cpu/norm/norm.h"
#include "backend/cpu/conv/conv_common.h"

enum { SCALE = 5, SHIFT = 6 }; /* inputs */

typedef struct affine_kernel {
  void (*run)(const hn_conv_f32 *conv, int64_t begin, int64_t end);
  hn_channel_affine_fn *affine;
  int block, most;
  double flops_per_ns;
} affine_kernel;

typedef struct state {
  const affine_kernel *kernel;
  hn_conv_f32 conv; /* one image without pointers; its input is a unit's */
  hn_channel_affine_args affine;
  int64_t batch, pixels, chunks, sets, grain, in_blocks, out_blocks;
  hn_cpu_conv_layout packed;
  int64_t scale_at, shift_at, packed_floats; /* in what pack wrote */
  int64_t worker_floats;
} state;

enum { UNIT_BYTES = 128 << 10, LEAST_PIXELS = 28 };

static const char *read(const hone_query *query, const affine_kernel *kernel, hn_conv_f32 *c) {
  const char *act = hn_attr_text(query->attrs, "pre_act");
  HN_TRY_REASON(hn_cpu_conv_read_affine(query, c));
  const hone_format blocked = kernel->block == 16 ? HONE_NCHW16C : HONE_NCHW8C;
  if (!hn_reads_as(&query->in[0].type, blocked) || !hn_reads_as(&query->out[0].type, blocked))
    return "it has another format";
  HN_TRY_REASON(hn_cpu_conv_constants(query));
  for (int i = SCALE; i <= SHIFT; ++i) {
    if (!hn_cpu_given(query, i)) return "nothing is done to its input";
    if (!(query->constant_mask >> i & 1) || !hn_cpu_is(&query->in[i], HONE_F32, HONE_PLAIN) ||
        query->in[i].type.shape.rank != 1 || query->in[i].type.shape.dim[0] != c->in_channels)
      return "the input's scale or shift is not constant, or has another length";
  }
  if (!hn_name_equal(act, "none") && !hn_name_equal(act, "relu")) return "the input's activation is not known";
  if (c->groups != 1 || c->kernel_height * c->kernel_width != 1 || c->stride_height * c->stride_width != 1 ||
      c->out_height != c->in_height || c->out_width != c->in_width || c->pad_top + c->pad_left > 0)
    return "it is not 1x1 with stride 1, one group and no pads";
  return NULL;
}

/* Places of everything in packed memory. */
static void lay_out(const hone_query *query, const affine_kernel *kernel, state *s) {
  const int block = kernel->block;
  const hn_conv_f32 *c = &s->conv;
  s->kernel = kernel;
  s->in_blocks = hn_ceil_div(c->in_channels, block);
  s->out_blocks = hn_ceil_div(c->out_channels, block);
  s->packed =
      hn_cpu_conv_lay_out(query, c, block, hn_conv_f32_packed_floats(c->out_channels, c->in_channels, 1, block));
  s->scale_at = s->packed.end;
  s->shift_at = s->scale_at + s->in_blocks * block;
  s->packed_floats = s->shift_at + s->in_blocks * block;
}

static hone_status pack(const hone_query *query, void *to) {
  const affine_kernel *kernel = query->tactic->kernel;
  state s = {0};
  if (read(query, kernel, &s.conv)) return HONE_INTERNAL;
  lay_out(query, kernel, &s);
  hn_conv_f32_pack_c(query->in[1].constant->data, s.conv.out_channels, s.conv.in_channels, 1, kernel->block, 0,
                     s.out_blocks, to);
  hn_cpu_conv_pack_epilogue(query, &s.packed, &s.conv, kernel->block, to);
  hn_cpu_conv_pack_channels(query, SCALE, s.conv.in_channels, kernel->block, (float *)to + s.scale_at);
  hn_cpu_conv_pack_channels(query, SHIFT, s.conv.in_channels, kernel->block, (float *)to + s.shift_at);
  return HONE_OK;
}

static int variants(const hone_query *query, hone_params *out, int room) {
  const affine_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 c;
  int count = 0;
  if (read(query, kernel, &c)) return 0;
  const int64_t blocks = hn_ceil_div(c.out_channels, kernel->block);
  for (int at = 2; at <= kernel->most + 1 && count < room; ++at) {
    const int oc_blocks = at <= kernel->most ? at : 1;
    if (oc_blocks > blocks || (oc_blocks == 1 && count > 0)) continue;
    out[count++] = (hone_params){.count = 1, .items = {{"oc_blocks", oc_blocks}}};
  }
  return count;
}

static const char *plan(const hone_query *query, void *state_memory, hone_needs *needs) {
  state asked = {0}, *s = state_memory ? state_memory : &asked;
  const affine_kernel *kernel = query->tactic->kernel;
  hn_conv_f32 *c = &s->conv;
  HN_TRY_REASON(read(query, kernel, c));
  lay_out(query, kernel, s);
  s->batch = c->batch;
  s->pixels = c->out_height * c->out_width;
  int64_t chunk = UNIT_BYTES / (int64_t)sizeof(float) / (s->in_blocks * kernel->block) / LEAST_PIXELS * LEAST_PIXELS;
  chunk = hn_cpu_lesser(hn_cpu_greater(chunk, LEAST_PIXELS), s->pixels);
  s->chunks = hn_ceil_div(s->pixels, chunk);
  chunk = hn_ceil_div(s->pixels, s->chunks);
  s->chunks = hn_ceil_div(s->pixels, chunk);
  c->oc_blocks = (int32_t)hn_cpu_conv_param(query, 0, kernel->most, hn_cpu_lesser(2, s->out_blocks));
  s->sets = hn_ceil_div(s->out_blocks, c->oc_blocks);
  s->grain = hn_cpu_grain(s->batch * s->chunks, hn_cpu_conv_flops(c) / kernel->flops_per_ns);
  c->batch = 1;
  c->in_height = 1;
  c->in_width = c->unit_rows = chunk;
  s->worker_floats = hn_cpu_whole_lines(s->in_blocks * chunk * kernel->block);
  s->affine = (hn_channel_affine_args){.channels = kernel->block,
                                       .block = kernel->block,
                                       .relu = hn_name_equal(hn_attr_text(query->attrs, "pre_act"), "relu")};
  needs->state = sizeof *s;
  needs->scratch = (size_t)(hn_cpu_threads(query->facts) * s->worker_floats) * sizeof(float);
  needs->packed = (size_t)s->packed_floats * sizeof(float);
  return NULL;
}

typedef struct job {
  const state *s;
  hn_conv_f32 conv; /* of the first image */
  float *scratch;
} job;

/* Pixels [first, first + count) of an image into `to`, block after block, `chunk` pixels apart. */
static void prepare_input(const job *j, const float *image, int64_t first, int64_t count, float *to) {
  const state *s = j->s;
  const int64_t block = s->kernel->block, step = s->conv.in_width * block;
  hn_channel_affine_args a = s->affine;
  a.pixels = count;
  for (int64_t b = 0; b < s->in_blocks; ++b) {
    a.x = image + (b * s->pixels + first) * block;
    a.y = to + b * step;
    a.scale = j->conv.weights + s->scale_at + b * block;
    a.shift = j->conv.weights + s->shift_at + b * block;
    s->kernel->affine(&a, 0, 1);
  }
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  const state *s = j->s;
  const int64_t block = s->kernel->block;
  float *memory = j->scratch + (int64_t)worker * s->worker_floats;
  hn_conv_f32 c = j->conv;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t image = unit / s->chunks, chunk = unit % s->chunks, first = chunk * c.unit_rows;
    const int64_t out = image * s->out_blocks * s->pixels * block;
    prepare_input(j, j->conv.input + image * s->in_blocks * s->pixels * block, first,
                  hn_cpu_lesser(c.unit_rows, s->pixels - first), memory);
    c.input = memory - first * block; /* the kernel counts pixels from the image's first */
    c.output = j->conv.output + out;
    if (s->packed.has_residual) c.epilogue.residual = j->conv.epilogue.residual + out;
    s->kernel->run(&c, chunk * s->sets, (chunk + 1) * s->sets);
  }
}

static hone_status launch(void *state_memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = state_memory;
  job j = {s, s->conv, launch->scratch};
  hn_cpu_conv_bind(&s->packed, launch, &j.conv);
  hn_pool_run(hn_stream_pool(stream), s->batch * s->chunks, s->grain, body, &j);
  return HONE_OK;
}

const hone_tactic hn_tactics_cpu_conv_affine[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.affine_conv.f32.nchw16c.1x1.avx512", .version = 1, .op = "affine_conv",
     .isa = HONE_ISA_AVX512, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED | 1 << SCALE | 1 << SHIFT,
     .storages = {{HONE_NCHW16C, HONE_NCHW16C}}, .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const affine_kernel){hn_conv_f32_1x1_nchw16c_avx512, hn_channel_affine_f32_avx512, 16,
                                      HN_CONV_F32_OC_BLOCKS_AVX512, 140.0}},
    {sizeof(hone_tactic), .name = "cpu.affine_conv.f32.nchw8c.1x1.avx2", .version = 1, .op = "affine_conv",
     .isa = HONE_ISA_AVX2, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED | 1 << SCALE | 1 << SHIFT,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .kernel = &(const affine_kernel){hn_conv_f32_1x1_nchw8c_avx2, hn_channel_affine_f32_avx2, 8,
                                      HN_CONV_F32_OC_BLOCKS_AVX2, 70.0}},
#endif
    {sizeof(hone_tactic), .name = "cpu.affine_conv.f32.nchw8c.1x1.c", .version = 1, .op = "affine_conv",
     .isa = HONE_ISA_C, .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_CPU_CONV_PACKED | 1 << SCALE | 1 << SHIFT,
     .storages = {{HONE_NCHW8C, HONE_NCHW8C}}, .plan = plan, .variants = variants, .pack = pack, .launch = launch,
     .kernel =
         &(const affine_kernel){hn_conv_f32_1x1_nchw8c_c, hn_channel_affine_f32_c, 8, HN_CONV_F32_OC_BLOCKS_C, 10.0}},
    {0}};
