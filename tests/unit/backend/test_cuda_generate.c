/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_generate.c - generated CUDA C without a GPU: where operands lie, and every operation of tensor/expr, every
 * way of lying and every type compiled by NVRTC for sm_80 and sm_90. Without libnvrtc the compilations are left out,
 * and it says so. */
#include "backend/cuda/eltwise/generate.h"
#include "tensor/expr.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// The text alone is under test: no part of the backend's shared object is linked here.
#include "backend/cuda/eltwise/generate.c"

typedef struct compiler {
  int (*create)(void **program, const char *source, const char *name, int headers, const char *const *bodies,
                const char *const *names);
  int (*compile)(void *program, int count, const char *const *options);
  int (*log_bytes)(void *program, size_t *bytes);
  int (*log)(void *program, char *log);
  int (*destroy)(void **program);
} compiler;

static bool open_compiler(compiler *out) {
  static const char *const names[] = {"nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetProgramLogSize",
                                      "nvrtcGetProgramLog", "nvrtcDestroyProgram"};
  static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  void *library = NULL;
  const char *folder = getenv("CUDA_PATH");
  for (size_t i = 0; i < sizeof files / sizeof *files && !library; ++i) {
    char path[1024];
    snprintf(path, sizeof path, "%s/lib64/%s", folder ? folder : "/usr/local/cuda", files[i]);
    library = dlopen(files[i], RTLD_NOW);
    if (!library) library = dlopen(path, RTLD_NOW);
  }
  for (int i = 0; library && i < 5; ++i) {
    void *symbol = dlsym(library, names[i]);
    if (!symbol) return false;
    memcpy((char *)out + (size_t)i * sizeof symbol, &symbol, sizeof symbol);
  }
  return library;
}

static void compile(const compiler *c, const char *source, const char *target) {
  void *program;
  const char *const options[] = {target, "--std=c++17"};
  assert_int_equal(c->create(&program, source, "kernel.cu", 0, NULL, NULL), 0);
  if (c->compile(program, 2, options) != 0) {
    size_t bytes = 0;
    assert_int_equal(c->log_bytes(program, &bytes), 0);
    char *log = calloc(bytes + 1, 1);
    assert_non_null(log);
    (void)c->log(program, log);
    print_error("%s\n%s\n", source + strlen(prelude), log);
    free(log);
    fail();
  }
  assert_int_equal(c->destroy(&program), 0);
}

/* One expression in which every operation occurs, as the library writes it. */
static void all_operations(char *out, size_t room) {
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  size_t used = 0;
  for (int op = 0; op < HN_EXPR_OP_COUNT; ++op) {
    const hn_expr_row *row = hn_expr_row_of((hn_expr_op)op);
    char call[64];
    if (row->arity == 0) continue;
    snprintf(call, sizeof call, "%s(x0%s%s)", row->name, row->arity > 1 ? ",x1" : "", row->arity > 2 ? ",1" : "");
    hn_expr expr;
    assert_int_equal(hn_expr_parse(NULL, call, NULL, 2, NULL, &expr), HONE_OK);
    hn_text_clear(&text);
    hn_text_expr(&text, &expr);
    used += (size_t)snprintf(out + used, room - used, "t%d=%s;", op, hn_text_string(&text));
  }
  for (int op = 0; op < HN_EXPR_OP_COUNT; ++op)
    if (hn_expr_row_of((hn_expr_op)op)->arity) used += (size_t)snprintf(out + used, room - used, "add(t%d,", op);
  used += (size_t)snprintf(out + used, room - used, "inf");
  for (int op = 0; op < HN_EXPR_OP_COUNT; ++op)
    if (hn_expr_row_of((hn_expr_op)op)->arity) used += (size_t)snprintf(out + used, room - used, ")");
  assert_true(used < room);
  hn_text_deinit(&text);
}

static hone_shape shape_of(int rank, int64_t a, int64_t b, int64_t c) {
  return (hone_shape){.rank = rank, .dim = {a, b, c}};
}

static hn_cuda_places place2(hone_shape a, hone_shape b, hone_shape out) {
  int64_t strides[2][HONE_MAX_RANK];
  hn_cuda_places places;
  hn_cuda_broadcast(&a, &out, strides[0]);
  hn_cuda_broadcast(&b, &out, strides[1]);
  assert_true(hn_cuda_place(&out, 2, (const int64_t(*)[HONE_MAX_RANK])strides, &places));
  return places;
}

static void test_places(void **state) {
  (void)state;
  const hone_shape full = shape_of(3, 4, 5, 6), row = shape_of(1, 6, 0, 0), one = shape_of(0, 0, 0, 0);
  const hone_shape middle = shape_of(3, 4, 1, 6), column = shape_of(3, 4, 5, 1);
  hn_cuda_places p = place2(full, full, full);
  assert_int_equal(p.rank, 0);
  assert_int_equal(p.count, 120);
  assert_int_equal(p.stride[1][0], 1);
  p = place2(full, one, full);
  assert_int_equal(p.rank, 0);
  assert_int_equal(p.stride[1][0], 0);
  p = place2(full, row, full);
  assert_int_equal(p.rank, 2);
  assert_int_equal(p.dim[0], 20);
  assert_int_equal(p.stride[1][0], 0);
  assert_int_equal(p.stride[1][1], 1);
  p = place2(middle, full, full);
  assert_int_equal(p.rank, 3);
  assert_int_equal(p.stride[0][0], 6);
  assert_int_equal(p.stride[0][1], 0);
  assert_int_equal(p.stride[0][2], 1);
  p = place2(full, column, full);
  assert_int_equal(p.rank, 2);
  assert_int_equal(p.dim[1], 6);
  assert_int_equal(p.stride[1][0], 1);
  assert_int_equal(p.stride[1][1], 0);
  /* Every element is met where numpy's rule says. */
  p = place2(middle, column, full);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 6; ++k) {
        int rest = (i * 5 + j) * 6 + k, at[2] = {0, 0};
        for (int d = p.rank - 1; d >= 0; --d) {
          for (int n = 0; n < 2; ++n) at[n] += rest % p.dim[d] * p.stride[n][d];
          rest /= p.dim[d];
        }
        assert_int_equal(at[0], i * 6 + k);
        assert_int_equal(at[1], i * 5 + j);
      }
  int64_t strides[1][HONE_MAX_RANK] = {{1}};
  const hone_shape huge = shape_of(1, (int64_t)1 << 31, 0, 0);
  assert_false(hn_cuda_place(&huge, 1, (const int64_t(*)[HONE_MAX_RANK])strides, &p));
}

static void test_text(void **state) {
  (void)state;
  static char source[HN_CUDA_SOURCE_BYTES];
  static const char *const types[] = {"float", "float", "float"};
  int per_thread;
  const hone_shape full = shape_of(2, 4, 8, 0), row = shape_of(1, 8, 0, 0), odd = shape_of(1, 7, 0, 0);
  hn_cuda_places p = place2(full, full, full);
  assert_true(hn_cuda_generate("t0=exp(x0);div(t0,add(t0,1e-05))", &p, types, source, sizeof source, &per_thread));
  assert_int_equal(per_thread, 4);
  assert_non_null(strstr(source, "const float t0=e_exp(x0);"));
  assert_non_null(strstr(source, "const float r = e_div(t0,e_add(t0,1e-05));"));
  p = place2(odd, odd, odd);
  assert_true(hn_cuda_generate("add(x0,x1)", &p, types, source, sizeof source, &per_thread));
  assert_int_equal(per_thread, 1);
  p = place2(full, row, full);
  assert_true(hn_cuda_generate("add(x0,x1)", &p, types, source, sizeof source, &per_thread));
  assert_non_null(strstr(source, "hn_places s"));
  assert_false(hn_cuda_generate("add(x0,x1)", &p, types, source, 100, &per_thread));
  static const char *const halves[] = {"f16", "f16", "f16"}, *const mixed[] = {"f16", "float", "f16"};
  assert_true(hn_cuda_generate("add(x0,x1)", &p, halves, source, sizeof source, &per_thread));
  assert_int_equal(per_thread, 8);
  assert_true(hn_cuda_generate("add(x0,x1)", &p, mixed, source, sizeof source, &per_thread));
  assert_int_equal(per_thread, 1);
}

static void test_compiles(void **state) {
  (void)state;
  static char text[HN_CUDA_TEXT_BYTES], source[HN_CUDA_SOURCE_BYTES * 2];
  compiler c;
  if (!open_compiler(&c)) {
    print_message("libnvrtc is not here: nothing is compiled\n");
    skip();
  }
  const hone_shape full = shape_of(3, 4, 5, 8), row = shape_of(1, 8, 0, 0), middle = shape_of(3, 4, 1, 8);
  const hone_shape one = shape_of(0, 0, 0, 0);
  const hn_cuda_places ways[] = {place2(full, full, full), place2(full, one, full), place2(full, row, full),
                                 place2(middle, row, full)};
  static const char *const types[][3] = {{"float", "float", "float"},         {"float", "unsigned char", "float"},
                                         {"float", "float", "unsigned char"}, {"f16", "f16", "f16"},
                                         {"bf16", "float", "bf16"},           {"bf16", "f16", "unsigned char"}};
  static const char *const targets[] = {"--gpu-architecture=sm_80", "--gpu-architecture=sm_90"};
  int per_thread;
  all_operations(text, sizeof text);
  for (int w = 0; w < 4; ++w)
    for (int t = 0; t < 6; ++t) {
      hn_cuda_places places = ways[w];
      if (t > 2 && w % 2) places.pitch = 8, places.channels = 5;
      assert_true(hn_cuda_generate(text, &places, types[t], source, sizeof source, &per_thread));
      compile(&c, source, targets[(w + t) % 2]);
    }
  static const char *const words[2] = {"long long", "long long"};
  const int64_t strides[1][HONE_MAX_RANK] = {{1, 5}};
  const hone_shape swapped = shape_of(2, 5, 8, 0);
  hn_cuda_places p;
  assert_true(hn_cuda_place(&swapped, 1, strides, &p));
  assert_true(hn_cuda_generate("x0", &p, words, source, sizeof source, &per_thread));
  compile(&c, source, targets[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_places), cmocka_unit_test(test_text),
                                     cmocka_unit_test(test_compiles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
