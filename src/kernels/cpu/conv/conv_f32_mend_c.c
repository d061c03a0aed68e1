/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_mend_c.c - groups that share blocks: an infinity or NaN in one group times the zero weight that another has
 * for it is NaN, so outputs that are NaN are computed again from their own group alone. */
#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/epilogue.h"

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* What `width` floats hold: is one of them NaN? */
static int any_nan(const float *x, int64_t count) {
  int found = 0;
  for (int64_t i = 0; i < count; ++i) found |= x[i] != x[i];
  return found;
}

/* The sum of output channel o at (y, x) over the inputs of its group, in the order of the tiles. */
static float own_sum(const hn_conv_f32_mend *m, const float *image, int64_t o, int64_t y, int64_t x) {
  const hn_conv_f32 *c = m->conv;
  const int64_t block = m->block, taps = c->kernel_height * c->kernel_width, group = o / m->out_per_group;
  const int64_t in_blocks = m->together * m->in_per_group / block, plane = c->in_height * c->in_width * block;
  const int64_t first = group % m->together * m->in_per_group, super = group / m->together * in_blocks;
  const float *w = c->weights + o / block * in_blocks * taps * block * block;
  float sum = c->epilogue.bias ? c->epilogue.bias[o] : 0.0f;
  for (int64_t ib = first / block; ib * block < first + m->in_per_group; ++ib)
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t iy = y * c->stride_height - c->pad_top + k / c->kernel_width * c->dilation_height;
      const int64_t ix = x * c->stride_width - c->pad_left + k % c->kernel_width * c->dilation_width;
      if (iy < 0 || iy >= c->in_height || ix < 0 || ix >= c->in_width) continue;
      const float *in = image + (super + ib) * plane + (iy * c->in_width + ix) * block;
      for (int64_t lane = 0; lane < block; ++lane) {
        const int64_t i = ib * block + lane;
        if (i >= first && i < first + m->in_per_group)
          sum += in[lane] * w[((ib * taps + k) * block + lane) * block + o % block];
      }
    }
  return sum;
}

static float finished(const hn_conv_f32_mend *m, float sum, int64_t o, int64_t offset) {
  hn_epilogue_f32 e = m->conv->epilogue;
  if (e.residual) sum += e.residual[offset];
  if (e.activation == HN_ACTIVATION_PRELU) return sum < 0 ? e.slope[o] * sum : sum;
  hn_activate_f32_c(&sum, 1, &e);
  return sum;
}

void hn_conv_f32_mend_c(const hn_conv_f32_mend *m, int64_t begin, int64_t end) {
  const hn_conv_f32 *c = m->conv;
  const int64_t block = m->block, blocks = ceil_div(m->out_channels, block), width = c->out_width * block;
  const int64_t in_image = ceil_div(c->in_channels, block) * c->in_height * c->in_width * block;
  for (int64_t row = begin; row < end; ++row) {
    float *out = c->output + row * width;
    if (!any_nan(out, width)) continue;
    const int64_t y = row % c->out_height, ob = row / c->out_height % blocks, image = row / c->out_height / blocks;
    for (int64_t i = 0; i < width; ++i) {
      const int64_t o = ob * block + i % block;
      if (out[i] == out[i]) continue;
      out[i] = o < m->out_channels
                   ? finished(m, own_sum(m, c->input + image * in_image, o, y, i / block), o, row * width + i)
                   : 0.0f;
    }
  }
}
