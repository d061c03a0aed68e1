/* SPDX-License-Identifier: Apache-2.0 */
/* generate.c - an elementwise expression as CUDA C. The expression's text is already C but for the names of its calls,
 * which get a prefix; extents and strides are arguments, so that one kernel serves every shape of one rank. What each
 * operation means is what src/tensor/expr_eval.c does. */
#include "backend/cuda/eltwise/generate.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int64_t elements(const hone_shape *shape) {
  int64_t count = 1;
  for (int i = 0; i < shape->rank; ++i) count *= shape->dim[i];
  return count;
}

/* The kernel before may still run when these begin. */
static const char prelude[] =
    "#define inf __int_as_float(0x7f800000)\n"
    "#define nan __int_as_float(0x7fc00000)\n"
    "#define F __device__ __forceinline__ float\n"
    "F e_add(float a, float b) { return a + b; }\n"
    "F e_sub(float a, float b) { return a - b; }\n"
    "F e_mul(float a, float b) { return a * b; }\n"
    "F e_div(float a, float b) { return a / b; }\n"
    "F e_fmod(float a, float b) { return fmodf(a, b); }\n"
    "F e_mod(float a, float b) { float r = fmodf(a, b); if (r == 0) return copysignf(0, b);\n"
    "  return (r < 0) != (b < 0) ? r + b : r; }\n"
    "F e_pow(float a, float b) { return powf(a, b); }\n"
    "F e_min(float a, float b) { return a != a || a < b ? a : b; }\n"
    "F e_max(float a, float b) { return a != a || a > b ? a : b; }\n"
    "F e_neg(float a) { return -a; }\n"
    "F e_abs(float a) { return fabsf(a); }\n"
    "F e_sign(float a) { return a != a ? a : (float)((a > 0) - (a < 0)); }\n"
    "F e_recip(float a) { return 1 / a; }\n"
    "F e_sqrt(float a) { return sqrtf(a); }\n"
    "F e_exp(float a) { return expf(a); }\n"
    "F e_log(float a) { return logf(a); }\n"
    "F e_erf(float a) { return erff(a); }\n"
    "F e_tanh(float a) { return tanhf(a); }\n"
    "F e_sigmoid(float a) { if (a >= 0) return 1 / (1 + expf(-a)); float e = expf(a); return e / (1 + e); }\n"
    "F e_sin(float a) { return sinf(a); }\n"
    "F e_cos(float a) { return cosf(a); }\n"
    "F e_tan(float a) { return tanf(a); }\n"
    "F e_asin(float a) { return asinf(a); }\n"
    "F e_acos(float a) { return acosf(a); }\n"
    "F e_atan(float a) { return atanf(a); }\n"
    "F e_sinh(float a) { return sinhf(a); }\n"
    "F e_cosh(float a) { return coshf(a); }\n"
    "F e_asinh(float a) { return asinhf(a); }\n"
    "F e_acosh(float a) { return acoshf(a); }\n"
    "F e_atanh(float a) { return atanhf(a); }\n"
    "F e_floor(float a) { return floorf(a); }\n"
    "F e_ceil(float a) { return ceilf(a); }\n"
    "F e_round(float a) { return rintf(a); }\n"
    "F e_lt(float a, float b) { return a < b; }\n"
    "F e_le(float a, float b) { return a <= b; }\n"
    "F e_gt(float a, float b) { return a > b; }\n"
    "F e_ge(float a, float b) { return a >= b; }\n"
    "F e_eq(float a, float b) { return a == b; }\n"
    "F e_ne(float a, float b) { return a != b; }\n"
    "F e_and(float a, float b) { return a != 0 && b != 0; }\n"
    "F e_or(float a, float b) { return a != 0 || b != 0; }\n"
    "F e_xor(float a, float b) { return (a != 0) != (b != 0); }\n"
    "F e_not(float a) { return a == 0; }\n"
    "F e_select(float a, float b, float c) { return a != 0 ? b : c; }\n"
    "F e_isnan(float a) { return a != a; }\n"
    "F e_isinf(float a) { return isinf(a); }\n"
    "F e_bit_and(float a, float b) { return (float)((long long)a & (long long)b); }\n"
    "F e_bit_or(float a, float b) { return (float)((long long)a | (long long)b); }\n"
    "F e_bit_xor(float a, float b) { return (float)((long long)a ^ (long long)b); }\n"
    "F e_bit_not(float a) { return (float)~(long long)a; }\n"
    "F e_shift_left(float a, float b) { return (float)((long long)a << ((long long)b & 63)); }\n"
    "F e_shift_right(float a, float b) { return (float)((long long)a >> ((long long)b & 63)); }\n"
    "#define P __device__ __forceinline__ void\n"
    "P wait_for_previous() {\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
    "#endif\n"
    "}\n"
    "P let_next_begin() {\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "  asm volatile(\"griddepcontrol.launch_dependents;\");\n"
    "#endif\n"
    "}\n";

/* Written out, so that no header of CUDA's is needed at run time. */
static const char halves_prelude[] =
    "struct f16 { unsigned short bits; };\n"
    "struct bf16 { unsigned short bits; };\n"
    "F wide(f16 v) { float r; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(v.bits)); return r; }\n"
    "F wide(bf16 v) { return __uint_as_float((unsigned)v.bits << 16); }\n"
    "F wide(float v) { return v; }\n"
    "F wide(unsigned char v) { return v; }\n"
    "P put(f16* y, float v) { asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y->bits) : \"f\"(v)); }\n"
    "P put(bf16* y, float v) { asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(y->bits) : \"f\"(v)); }\n"
    "P put(float* y, float v) { *y = v; }\n"
    "P put(unsigned char* y, float v) { *y = v != 0; }\n"
    "template <typename T> P widen(float* to, const T* from) {\n"
    "  const uint4 v = *(const uint4*)from; const unsigned w[4] = {v.x, v.y, v.z, v.w};\n"
    "  #pragma unroll\n"
    "  for (int k = 0; k < 8; ++k) { T one; one.bits = (unsigned short)(w[k / 2] >> k % 2 * 16); to[k] = wide(one); }\n"
    "}\n"
    "template <typename T> P narrow(T* to, const float* from) {\n"
    "  unsigned w[4];\n"
    "  #pragma unroll\n"
    "  for (int k = 0; k < 4; ++k) { T a, b; put(&a, from[2 * k]); put(&b, from[2 * k + 1]);\n"
    "    w[k] = a.bits | (unsigned)b.bits << 16; }\n"
    "  *(uint4*)to = make_uint4(w[0], w[1], w[2], w[3]);\n"
    "}\n";

typedef struct writer {
  char *out;
  size_t room, used;
  bool full;
} writer;

static void put(writer *w, const char *format, ...) HONE_PRINTF(2, 3);
static void put(writer *w, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = w->full ? -1 : vsnprintf(w->out + w->used, w->room - w->used, format, arguments);
  va_end(arguments);
  if (written < 0 || (size_t)written >= w->room - w->used)
    w->full = true;
  else
    w->used += (size_t)written;
}

/* "t0=exp(x0);div(t0,2)" -> "  float t0=e_exp(x0);\n  const float r = e_div(t0,2);\n" */
static void put_expression(writer *w, const char *text) {
  while (*text) {
    const size_t length = strcspn(text, ";");
    const bool shared = memchr(text, '=', length);
    put(w, shared ? "  const float " : "  const float r = ");
    for (size_t i = 0; i < length;) {
      const bool name = isalpha((unsigned char)text[i]) && (i == 0 || !isalnum((unsigned char)text[i - 1]));
      size_t end = i + 1;
      while (name && end < length && (isalnum((unsigned char)text[end]) || text[end] == '_')) ++end;
      put(w, "%s%.*s", name && end < length && text[end] == '(' ? "e_" : "", (int)(end - i), text + i);
      i = end;
    }
    put(w, ";\n");
    text += length + (text[length] == ';');
  }
}

static bool is_float(const char *type) { return strcmp(type, "float") == 0; }
static bool is_half(const char *type) { return strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0; }

static bool has_halves(const hn_cuda_places *places, const char *const *types) {
  for (int i = 0; i <= places->in_count; ++i)
    if (is_half(types[i])) return true;
  return false;
}

/* Four elements a thread where all operands are dense floats. */
static bool takes_four(const hn_cuda_places *places, const char *const *types) {
  if (places->rank > 0 || places->count % 4) return false;
  for (int i = 0; i <= places->in_count; ++i)
    if (!is_float(types[i])) return false;
  return true;
}

/* Eight elements a thread where the output is halves, and along the innermost dim every input is halves beside each
 * other or one element. */
static bool takes_eight(const hn_cuda_places *places, const char *const *types) {
  const int last = places->rank ? places->rank - 1 : 0;
  const unsigned extent = places->rank ? (unsigned)places->dim[last] : places->count;
  if (!is_half(types[places->in_count]) || extent % 8) return false;
  for (int k = 0; k < places->in_count; ++k) {
    if (places->stride[k][last] == 0) continue;
    if (places->stride[k][last] != 1 || !is_half(types[k])) return false;
    for (int d = 0; d < last; ++d)
      if (places->stride[k][d] % 8) return false;
  }
  return true;
}

int hn_cuda_place_numbers(const hn_cuda_places *places, int *out) {
  int count = 0;
  for (int d = 0; d < places->rank; ++d) out[count++] = places->dim[d];
  for (int k = 0; k < places->in_count; ++k)
    for (int d = 0; d < places->rank; ++d) out[count++] = places->stride[k][d];
  if (places->pitch) out[count++] = places->pitch, out[count++] = places->channels;
  return count;
}

static void put_head(writer *w, const hn_cuda_places *places, const char *const *types) {
  int numbers[HN_CUDA_PLACE_NUMBERS];
  const int count = hn_cuda_place_numbers(places, numbers);
  const bool halves = has_halves(places, types);
  put(w, "%s%s", prelude, halves ? halves_prelude : "");
  if (count) put(w, "struct hn_places { int v[%d]; };\n", count);
  put(w, "extern \"C\" __global__ void __launch_bounds__(%d) hn_kernel(%s* y", HN_CUDA_THREADS,
      types[places->in_count]);
  for (int i = 0; i < places->in_count; ++i) put(w, ", const %s* p%d", types[i], i);
  put(w, ", unsigned n%s) {\n", count ? ", hn_places s" : "");
  put(w, "  const unsigned i = blockIdx.x * %du + threadIdx.x;\n", HN_CUDA_THREADS);
}

/* Offsets o0, o1, ... of element `at` of the output, given `rest`. */
static void put_offsets(writer *w, const hn_cuda_places *places, const char *rest) {
  put(w, "  unsigned rest = %s;\n  int", rest);
  for (int k = 0; k < places->in_count; ++k) put(w, "%s o%d = 0", k ? "," : "", k);
  put(w, ";\n");
  for (int d = places->rank - 1; d >= 0; --d) {
    if (d > 0)
      put(w, "  { const unsigned q = rest / (unsigned)s.v[%d]; const int at = (int)(rest - q * (unsigned)s.v[%d]);\n",
          d, d);
    else
      put(w, "  { const int at = (int)rest; const unsigned q = 0;\n");
    for (int k = 0; k < places->in_count; ++k) put(w, "  o%d += at * s.v[%d];\n", k, places->rank * (k + 1) + d);
    put(w, "  rest = q; }\n");
  }
}

/* Where the tail's numbers stand. */
static int tail_at(const hn_cuda_places *places) { return places->rank * (places->in_count + 1); }

static void put_eight(writer *w, const hn_cuda_places *places, const char *text) {
  const int last = places->rank ? places->rank - 1 : 0;
  put(w, "  if (i >= n / 8) return;\n");
  if (places->rank) put_offsets(w, places, "i * 8");
  put(w, "  wait_for_previous();\n");
  for (int k = 0; k < places->in_count; ++k)
    if (places->stride[k][last] && places->rank)
      put(w, "  float v%d[8]; widen(v%d, p%d + o%d);\n", k, k, k, k);
    else if (places->stride[k][last])
      put(w, "  float v%d[8]; widen(v%d, p%d + (size_t)i * 8);\n", k, k, k);
    else if (places->rank)
      put(w, "  const float v%d = wide(p%d[o%d]);\n", k, k, k);
    else
      put(w, "  const float v%d = wide(*p%d);\n", k, k);
  put(w, "  let_next_begin();\n  float all[8];\n");
  if (places->pitch)
    put(w, "  const int c = (int)(i * 8 %% (unsigned)s.v[%d]), most = s.v[%d];\n", tail_at(places),
        tail_at(places) + 1);
  put(w, "  #pragma unroll\n  for (int k = 0; k < 8; ++k) {\n");
  for (int k = 0; k < places->in_count; ++k)
    put(w, "  const float x%d = v%d%s;\n", k, k, places->stride[k][last] ? "[k]" : "");
  put_expression(w, text);
  put(w, "  all[k] = %s;\n  }\n  narrow(y + (size_t)i * 8, all);\n}\n", places->pitch ? "c + k < most ? r : 0" : "r");
}

/* The tail is zeros whatever the expression makes of zeros; what is read there may be another's. */
static void put_one_half(writer *w, const hn_cuda_places *places, const char *text) {
  put(w, "  if (i >= n) return;\n  wait_for_previous();\n");
  if (places->pitch)
    put(w, "  if ((int)(i %% (unsigned)s.v[%d]) >= s.v[%d]) { put(y + i, 0); return; }\n", tail_at(places),
        tail_at(places) + 1);
  if (places->rank) put_offsets(w, places, "i");
  for (int k = 0; k < places->in_count; ++k)
    if (places->rank)
      put(w, "  const float x%d = wide(p%d[o%d]);\n", k, k, k);
    else
      put(w, "  const float x%d = wide(p%d[%s]);\n", k, k, places->stride[k][0] ? "i" : "0");
  put_expression(w, text);
  put(w, "  put(y + i, r);\n}\n");
}

static void put_four(writer *w, const hn_cuda_places *places, const char *text) {
  put(w, "  if (i >= n / 4) return;\n  wait_for_previous();\n");
  for (int k = 0; k < places->in_count; ++k)
    if (places->stride[k][0])
      put(w, "  const float4 v%d = ((const float4*)p%d)[i];\n", k, k);
    else
      put(w, "  const float v%d = *p%d;\n", k, k);
  put(w, "  let_next_begin();\n");
  static const char lanes[4] = {'x', 'y', 'z', 'w'};
  put(w, "  float4 result;\n");
  for (int lane = 0; lane < 4; ++lane) {
    put(w, "  {\n");
    for (int k = 0; k < places->in_count; ++k)
      if (places->stride[k][0])
        put(w, "  const float x%d = v%d.%c;\n", k, k, lanes[lane]);
      else
        put(w, "  const float x%d = v%d;\n", k, k);
    put_expression(w, text);
    put(w, "  result.%c = r;\n  }\n", lanes[lane]);
  }
  put(w, "  ((float4*)y)[i] = result;\n}\n");
}

/* Moves keep the bits of whatever type: x0 then has that type, not float. */
static void put_one(writer *w, const hn_cuda_places *places, const char *const *types, const char *text) {
  const bool moves = strcmp(text, "x0") == 0;
  put(w, "  if (i >= n) return;\n");
  if (places->rank) put_offsets(w, places, "i");
  put(w, "  wait_for_previous();\n");
  for (int k = 0; k < places->in_count; ++k) {
    put(w, "  const %s x%d = p%d[", moves ? types[k] : "float", k, k);
    if (places->rank)
      put(w, "o%d];\n", k);
    else
      put(w, "%s];\n", places->stride[k][0] ? "i" : "0");
  }
  if (moves)
    put(w, "  const %s r = x0;\n", types[0]);
  else
    put_expression(w, text);
  put(w, is_float(types[places->in_count]) || moves ? "  y[i] = r;\n}\n" : "  y[i] = r != 0;\n}\n");
}

bool hn_cuda_generate(const char *text, const hn_cuda_places *places, const char *const *types, char *out, size_t room,
                      int *out_per_thread) {
  writer w = {.out = out, .room = room};
  const bool four = takes_four(places, types), eight = takes_eight(places, types);
  put_head(&w, places, types);
  if (four)
    put_four(&w, places, text);
  else if (eight)
    put_eight(&w, places, text);
  else if (has_halves(places, types))
    put_one_half(&w, places, text);
  else
    put_one(&w, places, types, text);
  *out_per_thread = four ? 4 : eight ? 8 : 1;
  return !w.full;
}

/* ---- where operands lie ---- */

void hn_cuda_broadcast(const hone_shape *in, const hone_shape *out, int64_t *strides) {
  int64_t step = 1;
  for (int d = 0; d < HONE_MAX_RANK; ++d) strides[d] = 0;
  for (int i = in->rank - 1; i >= 0; --i) {
    const int d = i + out->rank - in->rank;
    if (in->dim[i] != 1) strides[d] = step;
    step *= in->dim[i];
  }
}

/* Every input goes on where the inner dim ends. */
static bool joins(int in_count, const int64_t (*strides)[HONE_MAX_RANK], int outer, int inner, int64_t inner_extent) {
  for (int k = 0; k < in_count; ++k)
    if (strides[k][outer] != strides[k][inner] * inner_extent) return false;
  return true;
}

bool hn_cuda_place(const hone_shape *out, int in_count, const int64_t (*strides)[HONE_MAX_RANK], hn_cuda_places *to) {
  *to = (hn_cuda_places){.in_count = in_count};
  const int64_t count = elements(out);
  if (count > INT32_MAX / 2 || in_count > HN_CUDA_INPUTS) return false;
  to->count = (unsigned)count;
  int64_t extent = 0;
  int last = -1; /* the source axis whose strides the newest dim has */
  for (int d = 0; d < out->rank; ++d) {
    if (out->dim[d] == 1) continue;
    if (last >= 0 && joins(in_count, strides, last, d, out->dim[d])) {
      extent *= out->dim[d];
    } else {
      extent = out->dim[d];
      ++to->rank;
    }
    last = d;
    to->dim[to->rank - 1] = (int)extent;
    for (int k = 0; k < in_count; ++k) {
      if (strides[k][d] > INT32_MAX || strides[k][d] < 0) return false;
      to->stride[k][to->rank - 1] = (int)strides[k][d];
    }
  }
  if (to->rank > 1) return true;
  for (int k = 0; to->rank == 1 && k < in_count; ++k)
    if (to->stride[k][0] > 1) return true; /* one dim, but not dense */
  to->rank = 0;
  return true;
}
