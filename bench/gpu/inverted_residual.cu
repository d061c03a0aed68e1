/* SPDX-License-Identifier: Apache-2.0 */
/* inverted_residual.cu - a kernel lab: MobileNetV2 in fp16, NHWC, as 20 kernels. Stem; 17 inverted residuals, each one
 * kernel (expand by mma into shared memory, depthwise, project by mma; hidden channels are split over a cluster, whose
 * members push their partial sums to the rows' owners, which add them in a fixed order); head with its mean; fc.
 * Tries the tiles of inverted_residual_tiles.inc for each block, checks each against the host, then times the network.
 *
 *   nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o inverted_residual inverted_residual.cu &&
 * ./inverted_residual [1|2]
 *
 * 1: batch 1 only; else 256, too. docs/EXPERIMENTS.md says what came out. */
#include "inverted_residual.cuh"

struct variant {
  const char *name;
  int cin, hid, cout, s, h;
  void (*go)(ir_args, int, cudaStream_t);
  void (*init)();
  int ctas, bytes;
};
template <class T> static void go(ir_args a, int n, cudaStream_t s) {
  launch(ir_kernel<T>, dim3(T::CL, T::TX * T::TY, n), T::CL, T::THREADS, T::bytes, s, a);
}
template <class T> static void init() {
  CHECK(cudaFuncSetAttribute(ir_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::bytes));
  if (T::CL > 8) CHECK(cudaFuncSetAttribute(ir_kernel<T>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}
#define V(cin, hid, cout, s, h, th, tw, hc, thr)                                                                       \
  {                                                                                                                    \
#th "x" #tw " hc" #hc " t" #thr, cin, hid, cout, s, h, go < ir_shape < cin, hid, cout, s, h, th, tw, hc, thr>>,    \
        init < ir_shape < cin, hid, cout, s, h, th, tw, hc, thr>>, ir_shape < cin, hid, cout, s, h, th, tw, hc,        \
        thr> ::CL *ir_shape < cin, hid, cout, s, h, th, tw, hc, thr> ::TX *ir_shape < cin, hid, cout, s, h, th, tw,    \
        hc, thr> ::TY, ir_shape < cin, hid, cout, s, h, th, tw, hc, thr> ::bytes                                       \
  }
static const variant variants[] = {
#include "inverted_residual_tiles.inc"
};
constexpr int NV = sizeof variants / sizeof variants[0];

struct layer {
  int cin, hid, cout, s, h;
  std::vector<half> we, wd, wp;
  std::vector<float> be, bd, bp;
  ir_args d;
};
static double r6(double v) { return v < 0 ? 0 : v > 6 ? 6 : v; }

static float rounded(double v) { return __half2float(__float2half((float)v)); }

/* The hidden activations of one image; products in f32 are exact enough for a check to 1e-3. */
static std::vector<float> expand(const layer &l, const std::vector<float> &x) {
  std::vector<float> e((size_t)l.h * l.h * l.hid);
  if (l.cin == l.hid) return x;
  for (int p = 0; p < l.h * l.h; ++p)
    for (int c = 0; c < l.hid; ++c) {
      float t = 0;
      for (int k = 0; k < l.cin; ++k) t += x[(size_t)p * l.cin + k] * __half2float(l.we[(size_t)c * l.cin + k]);
      e[(size_t)p * l.hid + c] = rounded(r6(t + l.be[c]));
    }
  return e;
}

static float depthwise_at(const layer &l, const std::vector<float> &e, int oy, int ox, int c) {
  double t = l.bd[c];
  for (int ky = 0; ky < 3; ++ky)
    for (int kx = 0; kx < 3; ++kx) {
      const int iy = oy * l.s + ky - 1, ix = ox * l.s + kx - 1;
      if (iy >= 0 && iy < l.h && ix >= 0 && ix < l.h)
        t += (double)e[((size_t)iy * l.h + ix) * l.hid + c] * __half2float(l.wd[(size_t)(ky * 3 + kx) * l.hid + c]);
    }
  return rounded(r6(t));
}

/* One image; activations are rounded to half where the kernel rounds them. */
static std::vector<float> reference(const layer &l, const std::vector<float> &x) {
  const int ho = l.h / l.s;
  const std::vector<float> e = expand(l, x);
  std::vector<float> d(l.hid), y((size_t)ho * ho * l.cout);
  for (int p = 0; p < ho * ho; ++p) {
    for (int c = 0; c < l.hid; ++c) d[c] = depthwise_at(l, e, p / ho, p % ho, c);
    for (int c = 0; c < l.cout; ++c) {
      float t = l.bp[c];
      for (int k = 0; k < l.hid; ++k) t += d[k] * __half2float(l.wp[(size_t)c * l.hid + k]);
      if (l.s == 1 && l.cin == l.cout) t += x[(size_t)p * l.cin + c];
      y[(size_t)p * l.cout + c] = t;
    }
  }
  return y;
}
static double rel(const std::vector<half> &got, const std::vector<float> &want) {
  double a = 0, b = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = __half2float(got[i]);
    a += (g - want[i]) * (g - want[i]);
    b += (double)want[i] * want[i];
  }
  return sqrt(a / (b + 1e-30));
}

enum { BLOCKS = 17, MAX_BATCH = 256, HEAD_BYTES = (64 + 16) * 328 * 2 + 2 * 64 * 20 * 4 };
static const struct {
  int cin, hid, cout, s, h;
} net[BLOCKS] = {{32, 32, 16, 1, 112}, {16, 96, 24, 2, 112},  {24, 144, 24, 1, 56},  {24, 144, 32, 2, 56},
                 {32, 192, 32, 1, 28}, {32, 192, 32, 1, 28},  {32, 192, 64, 2, 28},  {64, 384, 64, 1, 14},
                 {64, 384, 64, 1, 14}, {64, 384, 64, 1, 14},  {64, 384, 96, 1, 14},  {96, 576, 96, 1, 14},
                 {96, 576, 96, 1, 14}, {96, 576, 160, 2, 14}, {160, 960, 160, 1, 7}, {160, 960, 160, 1, 7},
                 {160, 960, 320, 1, 7}};

struct network {
  cudaStream_t stream;
  std::vector<layer> layers;
  half *activations[BLOCKS + 1];
  stem_args stem;
  head_args head;
  half *pooled;
  float *scores;
  const half *fc_weights;
  const float *fc_bias;
  int best[BLOCKS]; /* the variant of each block */
  int batch;
  long long *ticks; /* clocks between the phases of one block's first tile */
};

static bool same_layer(const layer &a, const layer &b) {
  return a.cin == b.cin && a.hid == b.hid && a.cout == b.cout && a.s == b.s && a.h == b.h;
}

static void make_layers(network &n) {
  n.layers.resize(BLOCKS);
  for (int i = 0; i < BLOCKS; ++i) {
    layer &l = n.layers[i];
    l.cin = net[i].cin, l.hid = net[i].hid, l.cout = net[i].cout, l.s = net[i].s, l.h = net[i].h;
    l.we = halves((size_t)l.hid * l.cin, 1.5 / sqrt(l.cin));
    l.wd = halves((size_t)9 * l.hid, 0.5);
    l.wp = halves((size_t)l.cout * l.hid, 1.0 / sqrt(l.hid));
    l.be = floats(l.hid, 0.2);
    l.bd = floats(l.hid, 0.2);
    l.bp = floats(l.cout, 0.2);
    const int ho = l.h / l.s;
    CHECK(cudaMalloc(&n.activations[i + 1], (size_t)MAX_BATCH * ho * ho * l.cout * 2));
    l.d = {n.activations[i], n.activations[i + 1], at_device(l.we), at_device(l.wd), at_device(l.wp),
           at_device(l.be),  at_device(l.bd),      at_device(l.bp), nullptr};
  }
}

static void make_network(network &n) {
  half *images;
  CHECK(cudaStreamCreateWithFlags(&n.stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&n.activations[0], (size_t)MAX_BATCH * 112 * 112 * 32 * 2));
  CHECK(cudaMalloc(&n.ticks, 9 * sizeof *n.ticks));
  make_layers(n);
  std::vector<half> image = halves((size_t)224 * 224 * 4, 1);
  for (size_t i = 3; i < image.size(); i += 4) image[i] = __float2half(0);
  CHECK(cudaMalloc(&images, MAX_BATCH * image.size() * 2));
  for (int k = 0; k < MAX_BATCH; ++k)
    CHECK(cudaMemcpy(images + k * image.size(), image.data(), image.size() * 2, cudaMemcpyHostToDevice));
  CHECK(cudaMalloc(&n.pooled, MAX_BATCH * 1280 * 2));
  CHECK(cudaMalloc(&n.scores, MAX_BATCH * 1000 * 4));
  n.stem = {images, n.activations[0], at_device(floats(27 * 32, 0.4)), at_device(floats(32, 0.2))};
  n.head = {n.activations[BLOCKS], n.pooled, at_device(halves(1280 * 320, 1 / sqrt(320.))),
            at_device(floats(1280, 0.2))};
  n.fc_weights = at_device(halves(1000 * 1280, 1 / sqrt(1280.)));
  n.fc_bias = at_device(floats(1000, 0.2));
  for (const variant &v : variants) v.init();
  CHECK(cudaFuncSetAttribute(head_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, HEAD_BYTES));
}

static void run_stem(const network &n) {
  launch(stem_kernel, dim3(112 * 112 * 4 / 256, 1, n.batch), 1, 256, 0, n.stream, n.stem);
}
static void run_head(const network &n) {
  launch(head_kernel, dim3(80, 1, n.batch), 1, 256, HEAD_BYTES, n.stream, n.head);
}
static void run_fc(const network &n) {
  launch(fc_kernel<5>, dim3(125, n.batch), 1, 256, 0, n.stream, (const half *)n.pooled, n.scores, n.fc_weights,
         n.fc_bias, 1000);
}
static void run_network(const network &n) {
  run_stem(n);
  for (int i = 0; i < BLOCKS; ++i) variants[n.best[i]].go(n.layers[i].d, n.batch, n.stream);
  run_head(n);
  run_fc(n);
}

/* What a block should write for the first image. */
static std::vector<float> wanted(const network &n, int i) {
  const layer &l = n.layers[i];
  std::vector<half> stored((size_t)l.h * l.h * l.cin);
  std::vector<float> x(stored.size());
  CHECK(cudaMemcpy(stored.data(), n.activations[i], stored.size() * 2, cudaMemcpyDeviceToHost));
  for (size_t k = 0; k < stored.size(); ++k) x[k] = __half2float(stored[k]);
  return reference(l, x);
}

static void print_clocks(const network &n, const variant &v, const layer &l) {
  static const char *const phases[] = {"weights", "wait", "load", "expand", "depthwise", "project", "sync", "reduce"};
  long long at[9];
  ir_args timed = l.d;
  timed.t = n.ticks;
  for (int k = 0; k < 3; ++k) v.go(timed, n.batch, n.stream);
  CHECK(cudaStreamSynchronize(n.stream));
  CHECK(cudaMemcpy(at, n.ticks, sizeof at, cudaMemcpyDeviceToHost));
  for (int k = 0; k < 8; ++k) printf("%s%s %lld", k ? ", " : "    clocks: ", phases[k], at[k + 1] - at[k]);
  printf("\n");
}

/* Checks and times one variant of block i; its time, or infinity when it does not run or is wrong. */
static float try_variant(const network &n, int i, const variant &v, const std::vector<float> &want) {
  const layer &l = n.layers[i];
  const int repeat = n.batch == 1 ? 20 : 1;
  std::vector<half> y(want.size());
  CHECK(cudaMemsetAsync(n.activations[i + 1], 0xff, y.size() * 2, n.stream));
  launch_error = cudaSuccess;
  v.go(l.d, n.batch, n.stream);
  CHECK(cudaStreamSynchronize(n.stream));
  CHECK(cudaMemcpy(y.data(), n.activations[i + 1], y.size() * 2, cudaMemcpyDeviceToHost));
  const double error = launch_error == cudaSuccess ? rel(y, want) : INFINITY;
  const float us = time_us([&] { v.go(l.d, n.batch, n.stream); }, repeat, n.stream);
  use_pdl = false;
  const float edges_us = time_us([&] { v.go(l.d, n.batch, n.stream); }, repeat, n.stream);
  use_pdl = true;
  printf("b%d block %2d %3d-%3d-%3d s%d @%3d  %-20s %4d CTAs %6d B  %9.2f us (edges %.2f)  error %.1e\n", n.batch,
         i + 1, l.cin, l.hid, l.cout, l.s, l.h, v.name, v.ctas, v.bytes, us, edges_us, error);
  if (n.batch == 1) print_clocks(n, v, l);
  return error < 2e-3 ? us : INFINITY;
}

/* Identical blocks are timed once. */
static bool choose(network &n, int i) {
  const layer &l = n.layers[i];
  float least = INFINITY;
  n.best[i] = -1;
  for (int k = 0; k < i && n.best[i] < 0; ++k)
    if (same_layer(n.layers[k], l)) n.best[i] = n.best[k];
  if (n.best[i] < 0) {
    const std::vector<float> want = wanted(n, i);
    for (int v = 0; v < NV; ++v) {
      const variant &w = variants[v];
      if (w.cin != l.cin || w.hid != l.hid || w.cout != l.cout || w.s != l.s || w.h != l.h) continue;
      const float us = try_variant(n, i, w, want);
      if (us < least) least = us, n.best[i] = v;
    }
  }
  if (n.best[i] < 0) return false;
  variants[n.best[i]].go(l.d, n.batch, n.stream);
  CHECK(cudaStreamSynchronize(n.stream));
  return true;
}

static bool try_batch(network &n, int batch) {
  const int repeat = batch == 1 ? 20 : 1;
  n.batch = batch;
  run_stem(n);
  CHECK(cudaStreamSynchronize(n.stream));
  for (int i = 0; i < BLOCKS; ++i)
    if (!choose(n, i)) {
      printf("block %d: no variant runs and is right\n", i + 1);
      return false;
    }
  printf("b%d stem %.2f us, head %.2f us, fc %.2f us\n", batch, time_us([&] { run_stem(n); }, repeat, n.stream),
         time_us([&] { run_head(n); }, repeat, n.stream), time_us([&] { run_fc(n); }, repeat, n.stream));
  printf("b%d network: %.2f us; ten back to back: %.2f us each", batch, time_us([&] { run_network(n); }, 1, n.stream),
         time_us([&] { run_network(n); }, 10, n.stream));
  use_pdl = false;
  printf("; without dependent launch: %.2f us\n", time_us([&] { run_network(n); }, 1, n.stream));
  use_pdl = true;
  return true;
}

int main(int argc, char **argv) {
  static network n;
  make_network(n);
  if (!try_batch(n, 1)) return 1;
  return argc > 1 && atoi(argv[1]) == 1 ? 0 : !try_batch(n, MAX_BATCH);
}
