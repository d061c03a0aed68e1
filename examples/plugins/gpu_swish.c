/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_swish.c - a plug-in with an operator, y = x / (1 + exp(-x)), and a CUDA kernel of its own for it. The operator's
 * eval and expression are as in shifted_relu.c; what is new is a tactic for the device "cuda", which loads a kernel and
 * launches it into the stream that it is given. Beside it the tuner has the kernel that hone makes of the expression,
 * and the faster one runs. ONNX models call it com.example.GpuSwish.
 *
 * The kernel is PTX, which any driver compiles, so that no toolkit is needed to build this; `nvcc -ptx` writes such
 * text of CUDA C, and `nvcc -fatbin` makes what cuModuleLoadData takes as well:
 *   extern "C" __global__ void swish(float *y, const float *x, unsigned long long count) {
 *     const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
 *     if (i < count) y[i] = x[i] / (1 + __expf(-x[i]));
 *   } */
#include <dlfcn.h>
#include <hone/plugin.h>
#include <math.h>
#include <string.h>

static const char kernel[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .entry swish(.param .u64 y, .param .u64 x, .param .u64 count) {\n"
                             "  .reg .pred %p;\n  .reg .f32 %v, %e;\n  .reg .b32 %b, %n, %t;\n"
                             "  .reg .b64 %i, %w, %c, %from, %to;\n"
                             "  ld.param.u64 %to, [y];\n  ld.param.u64 %from, [x];\n  ld.param.u64 %c, [count];\n"
                             "  mov.u32 %b, %ctaid.x;\n  mov.u32 %n, %ntid.x;\n  mov.u32 %t, %tid.x;\n"
                             "  mul.wide.u32 %i, %b, %n;\n  cvt.u64.u32 %w, %t;\n  add.u64 %i, %i, %w;\n"
                             "  setp.ge.u64 %p, %i, %c;\n  @%p bra end;\n"
                             "  shl.b64 %i, %i, 2;\n  add.u64 %from, %from, %i;\n  add.u64 %to, %to, %i;\n"
                             "  ld.global.f32 %v, [%from];\n"
                             "  mul.f32 %e, %v, 0fBFB8AA3B;\n" /* exp(-x) is two to the power of -x / ln 2 */
                             "  ex2.approx.f32 %e, %e;\n  add.f32 %e, %e, 0f3F800000;\n  div.rn.f32 %v, %v, %e;\n"
                             "  st.global.f32 [%to], %v;\n"
                             "end:\n  ret;\n}\n";
enum { THREADS = 256 };

/* ---- the operator ---- */

static hone_status infer(hone_infer *infer) {
  infer->out[0].type = infer->in[0].type;
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  if (!eval->out[0].data) {
    const hone_shape *shape = &eval->in[0].type.shape;
    const hone_status status = eval->resize(eval, 0, shape->rank, shape->dim);
    if (status != HONE_OK) return status;
  }
  const float *x = eval->in[0].data;
  float *y = eval->out[0].data;
  const int64_t count = (int64_t)(eval->out[0].bytes / sizeof *y);
  const int64_t first = window ? window->first : 0, last = window ? window->last : count;
  for (int64_t i = first; i < last; ++i) y[i] = (float)((double)x[i] / (1 + exp(-(double)x[i])));
  return HONE_OK;
}

static int64_t count_of(const hone_fact *fact) {
  int64_t count = 1;
  for (int i = 0; i < fact->type.shape.rank; ++i) count *= fact->type.shape.dim[i];
  return count;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs, (void)in, (void)in_count, (void)out_count;
  const double elements = (double)count_of(&out[0]);
  return (hone_cost){.flops = 4 * elements, .bytes_read = 4 * elements, .bytes_written = 4 * elements};
}

static const hone_op swish = {
    .struct_size = sizeof(hone_op),
    .name = "gpu_swish",
    .doc = "x / (1 + exp(-x))",
    .in = {{.name = "x", .letter = 'T', .types = HONE_BIT(HONE_F32)}},
    .out = {{.name = "y", .letter = 'T'}},
    .traits = HONE_ELEMENTWISE,
    .expr = "div(x, add(exp(neg(x)), 1))",
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .onnx = {{.name = "GpuSwish", .first = 1, .last = HONE_LATEST, .domain = "com.example"}},
};

/* ---- its kernel ---- */

/* What is needed of the driver, which is there where a cuda device is; 0 is success. */
typedef struct driver {
  int (*load)(void **module, const void *image);
  int (*find)(void **function, void *module, const char *name);
  int (*unload)(void *module);
  int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                unsigned shared, void *stream, void **arguments, void **extra);
} driver;

typedef struct state {
  driver driver;
  void *library, *module, *function;
  uint64_t count;
} state;

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  const hone_type *x = &query->in[0].type;
  if (x->kind != HONE_TENSOR || x->dtype != HONE_F32 || x->format != HONE_PLAIN) return "the input is not plain f32";
  const int64_t count = count_of(&query->out[0]);
  if (count > (int64_t)INT32_MAX * THREADS) return "more blocks than a grid has";
  *needs = (hone_needs){.state = sizeof(state), .efficiency = needs->efficiency};
  if (memory) ((state *)memory)->count = (uint64_t)count;
  return NULL;
}

static void release(void *memory) {
  state *s = memory;
  if (s->module) (void)s->driver.unload(s->module);
  if (s->library) (void)dlclose(s->library);
}

/* The device is the thread's current one. */
static hone_status prepare(hone_unit *unit, const hone_query *query, void *memory, hone_diagnostics *diagnostics) {
  static const char *const names[] = {"cuModuleLoadData", "cuModuleGetFunction", "cuModuleUnload", "cuLaunchKernel"};
  state *s = memory;
  (void)unit, (void)query, (void)diagnostics;
  s->library = dlopen("libcuda.so.1", RTLD_NOW);
  for (size_t i = 0; s->library && i < sizeof names / sizeof *names; ++i) {
    void *symbol = dlsym(s->library, names[i]);
    memcpy((char *)&s->driver + i * sizeof symbol, &symbol, sizeof symbol);
  }
  if (s->library && s->driver.load(&s->module, kernel) == 0 && s->driver.find(&s->function, s->module, "swish") == 0)
    return HONE_OK;
  release(s);
  return HONE_DEVICE;
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  state *s = memory;
  void *y = launch->out[0].data, *x = launch->in[0].data;
  void *arguments[] = {&y, &x, &s->count};
  const unsigned blocks = (unsigned)((s->count + THREADS - 1) / THREADS);
  (void)stream;
  if (blocks == 0) return HONE_OK;
  return s->driver.launch(s->function, blocks, 1, 1, THREADS, 1, 1, 0, launch->native_stream, arguments, NULL) == 0
             ? HONE_OK
             : HONE_DEVICE;
}

static const hone_tactic swish_cuda = {.struct_size = sizeof(hone_tactic),
                                       .name = "example.gpu_swish.f32",
                                       .version = 1,
                                       .op = "gpu_swish",
                                       .flags = HONE_TACTIC_REPEATABLE | HONE_TACTIC_CAPTURABLE,
                                       .plan = plan,
                                       .prepare = prepare,
                                       .release = release,
                                       .launch = launch};

static const hone_op *const ops[] = {&swish, NULL};
static const hone_plugin_tactic tactics[] = {{"cuda", &swish_cuda}, {NULL, NULL}};
static const hone_plugin_table table = {
    .struct_size = sizeof(hone_plugin_table), .name = "gpu_swish", .version = "1", .ops = ops, .tactics = tactics};

HONE_API const hone_plugin_table *hone_plugin(const hone_host *host);
const hone_plugin_table *hone_plugin(const hone_host *host) {
  (void)host;
  return &table;
}
