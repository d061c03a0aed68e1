/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - what NVRTC gets beside the kernel's own text: one shape, one tile and three activations as constants. */
#include "backend/cuda/region/region.h"
#include <stdio.h>
#include <string.h>

/* An activation as CUDA C on floats. The result is rounded to eleven bits at once: those with an exponential take the
 * fast one and a fast division. */
static const char *expression_of(hn_activation kind) {
  static const char *const expressions[HN_ACTIVATION_COUNT] = {
#define HN_ACT(NUMBER, name, expression, reference, vector, half, cuda) #cuda,
#include "kernels/activations.inc"
#undef HN_ACT
  };
  if (kind == HN_ACTIVATION_SIGMOID) return "__fdividef(1, 1 + __expf(-x))";
  if (kind == HN_ACTIVATION_SILU) return "__fdividef(x, 1 + __expf(-x))";
  return expressions[kind];
}

static const char *kind_of(const hn_region_act *act) {
  if (act->kind == HN_ACTIVATION_NONE) return "HN_REGION_NO_ACT";
  if (act->kind == HN_ACTIVATION_RELU) return "HN_REGION_RELU";
  return act->kind == HN_ACTIVATION_CLIP && act->alpha == 0 && act->beta > 0 ? "HN_REGION_RELU_UP_TO"
                                                                             : "HN_REGION_OTHER_ACT";
}

int hn_region_act_source(const hn_region_act *act, const char *name, char *out, size_t room) {
  return snprintf(out, room,
                  "struct %s {\n"
                  "  enum { KIND = %s };\n"
                  "  static HN_DEVICE float most() { return (float)%.9g; }\n"
                  "  static HN_DEVICE float of(float x) {\n"
                  "    const float alpha = (float)%.9g, beta = (float)%.9g;\n"
                  "    (void)alpha, (void)beta;\n"
                  "    return %s;\n"
                  "  }\n"
                  "};\n",
                  name, kind_of(act), (double)act->beta, (double)act->alpha, (double)act->beta,
                  expression_of(act->kind));
}

bool hn_region_source(const hn_region_query *query, hone_dtype dtype, char *out, size_t room) {
  static const char *const names[] = {"expand_act", "filter_act", "project_act"};
  const hn_region *r = &query->region;
  size_t used = 0;
  for (int i = 0; i < 3 && used < room; ++i)
    used += (size_t)hn_region_act_source(&query->act[i], names[i], out + used, room - used);
  if (used >= room) return false;
  used +=
      (size_t)snprintf(out + used, room - used,
                       "struct shape {\n"
                       "  static constexpr hn_region region = {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, "
                       "%d, %d, %d, %d, %d, "
                       "%d};\n"
                       "  typedef %s number;\n"
                       "  typedef ::expand_act expand_act;\n"
                       "  typedef ::filter_act filter_act;\n"
                       "  typedef ::project_act project_act;\n"
                       "};\n"
                       "extern \"C\" __global__ void __launch_bounds__(%d, %d) hn_kernel(hn_region_args a) {\n"
                       "  hn_inverted_residual<shape>(a);\n"
                       "}\n",
                       r->cin, r->hid, r->cout, r->in_h, r->in_w, r->out_h, r->out_w, r->kernel, r->stride, r->pad_h,
                       r->pad_w, r->expands, r->projects, r->has_residual, r->tile_h, r->tile_w, r->images, r->chunk,
                       r->split, r->threads, dtype == HONE_F16 ? "hn_f16" : "hn_bf16", r->threads, 512 / r->threads);
  return used < room;
}

/* The texts one behind the other; NULL without memory. */
static char *join(const hone_unit *unit, const char *const *texts, int count, size_t *out_bytes) {
  size_t used = 0;
  *out_bytes = 1;
  for (int i = 0; i < count; ++i) *out_bytes += strlen(texts[i]);
  char *source = hn_cuda_new(unit->host, *out_bytes);
  for (int i = 0; i < count && source; ++i) {
    const size_t length = strlen(texts[i]);
    memcpy(source + used, texts[i], length);
    used += length;
  }
  return source;
}

hone_status hn_region_compile(hone_unit *unit, const char *const *texts, int count, CUfunction *out,
                              hone_diagnostics *diag) {
  size_t bytes;
  char *source = join(unit, texts, count, &bytes);
  if (!source) return unit->host->fail(diag, HONE_NO_MEMORY, "out of memory");
  const hone_status status = hn_cuda_compile(unit, source, out, diag);
  hn_cuda_delete(unit->host, source, bytes);
  if (status == HONE_OK) hn_cuda_lift_limits(unit, *out);
  return status;
}

void hn_region_compile_soon(hone_unit *unit, const char *const *texts, int count) {
  size_t bytes;
  char *source = join(unit, texts, count, &bytes);
  if (source) hn_cuda_compile_soon(unit, source);
  hn_cuda_delete(unit->host, source, source ? bytes : 0);
}
