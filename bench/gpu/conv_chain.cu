/* SPDX-License-Identifier: Apache-2.0 */
/* conv_chain.cu - a kernel lab: ResNet-50 in fp16, NHWC, as a chain of implicit-GEMM convolutions: mma.sync over stages
 * of cp.async; k is split over a cluster, whose members push their partial sums to the rows' owners; weights are on
 * their way before the kernel before has ended. Tries tiles and splits for each layer, checks samples against double,
 * then times the network.
 *
 *   nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o conv_chain conv_chain.cu && ./conv_chain [BATCH]
 *
 * docs/EXPERIMENTS.md says what came out. */
#include "conv_bulk.cuh"

struct tile_row {
  const char *name;
  int bm, bn, vec;
  void (*go)(const conv_args &, int cl, cudaStream_t);
  void (*init)();
  int (*bytes)(int);
};
template <int BM, int BN, int WM, int WN, int ST, int VEC> struct maker {
  typedef cfg<BM, BN, WM, WN, ST, VEC> C;
  static void go(const conv_args &args, int cl, cudaStream_t s) {
    conv_args a = args;
    a.cl = cl;
    launch(conv_kernel<BM, BN, WM, WN, ST, VEC>, dim3(cl, a.cout / BN, (a.m + BM - 1) / BM), cl, C::T, C::bytes(cl), s,
           a);
  }
  static void init() {
    CHECK(cudaFuncSetAttribute(conv_kernel<BM, BN, WM, WN, ST, VEC>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               std::min(C::bytes(16), 232448)));
    CHECK(
        cudaFuncSetAttribute(conv_kernel<BM, BN, WM, WN, ST, VEC>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  static int bytes(int cl) { return C::bytes(cl); }
};
#define TILE(bm, bn, wm, wn, st, vec)                                                                                  \
  {                                                                                                                    \
#bm "x" #bn " w" #wm "x" #wn " s" #st, bm, bn, vec, maker < bm, bn, wm, wn, st, vec> ::go, maker < bm, bn, wm, wn, \
        st, vec> ::init, maker < bm, bn, wm, wn, st, vec> ::bytes                                                      \
  }
#define BULK(bn, st)                                                                                                   \
  { "bulk 128x" #bn " s" #st, 128, bn, 8, bulk_maker<bn, st>::go, bulk_maker<bn, st>::init, bulk_maker<bn, st>::bytes }
static const tile_row tiles[] = {BULK(64, 4),
                                 BULK(64, 6),
                                 BULK(128, 3),
                                 BULK(128, 5),
                                 BULK(256, 4),
                                 TILE(64, 64, 32, 32, 4, 8),
                                 TILE(64, 64, 32, 16, 4, 8),
                                 TILE(32, 64, 16, 32, 4, 8),
                                 TILE(32, 64, 32, 16, 6, 8),
                                 TILE(32, 32, 16, 16, 6, 8),
                                 TILE(64, 32, 32, 16, 4, 8),
                                 TILE(128, 64, 32, 32, 3, 8),
                                 TILE(128, 128, 64, 32, 3, 8),
                                 TILE(128, 128, 32, 64, 4, 8),
                                 TILE(256, 64, 64, 32, 3, 8),
                                 TILE(256, 128, 64, 64, 3, 8),
                                 TILE(64, 64, 32, 32, 4, 4),
                                 TILE(128, 64, 32, 32, 3, 4),
                                 TILE(32, 64, 16, 32, 4, 4)};
constexpr int NT = sizeof tiles / sizeof tiles[0];

struct conv {
  int h, cin, cout, taps, stride, relu;
  half *in, *out;
  const half *residual; /* NULL: none */
  conv_args d;
  std::vector<half> w;
  std::vector<float> b;
  int tile, split;
  float us;
};

struct network {
  int batch;
  cudaStream_t stream;
  std::vector<conv> layers;
  half *stem, *pooled, *last, *mean; /* what the pools and the product read and write */
  float *scores;
  const half *fc_weights;
  const float *fc_bias;
};

static half *buffer(const network &n, size_t elements) {
  half *p;
  CHECK(cudaMalloc(&p, elements * n.batch * 2));
  return p;
}

static half *add(network &n, half *in, int h, int cin, int cout, int taps, int stride, int relu, const half *residual) {
  conv c = {h, cin, cout, taps, stride, relu, in, nullptr, residual};
  const int ho = h / stride, k = taps * taps * cin, padded = (k + 63) / 64 * 64;
  const double scale = (relu && !residual ? 2.4 : 1.0) / sqrt(k);
  c.tile = -1;
  c.us = INFINITY;
  c.out = buffer(n, (size_t)ho * ho * cout);
  c.w.assign((size_t)cout * padded, __float2half(0.f));
  for (int o = 0; o < cout; ++o)
    for (int i = 0; i < k; ++i) c.w[(size_t)o * padded + i] = __float2half((float)(number() * scale));
  c.b = floats(cout, 0.1);
  c.d.x = in, c.d.w = at_device(c.w), c.d.b = at_device(c.b), c.d.r = residual, c.d.y = c.out;
  c.d.h = h, c.d.ho = ho, c.d.cin = cin, c.d.cout = cout, c.d.k = k, c.d.taps_x = taps;
  c.d.stride = stride, c.d.pad = taps / 2, c.d.m = n.batch * ho * ho, c.d.kb = padded / 64, c.d.cl = 1, c.d.relu = relu;
  n.layers.push_back(c);
  return c.out;
}

static half *make_image(const network &n) {
  std::vector<half> v = halves((size_t)224 * 224 * 4, 1);
  for (size_t i = 3; i < v.size(); i += 4) v[i] = __float2half(0.f);
  half *image = buffer(n, v.size());
  for (int k = 0; k < n.batch; ++k)
    CHECK(cudaMemcpy(image + k * v.size(), v.data(), v.size() * 2, cudaMemcpyHostToDevice));
  return image;
}

static void make_network(network &n, int batch) {
  static const int blocks[4] = {3, 4, 6, 3};
  n.batch = batch;
  CHECK(cudaStreamCreateWithFlags(&n.stream, cudaStreamNonBlocking));
  n.stem = add(n, make_image(n), 224, 4, 64, 7, 2, 1, nullptr);
  n.pooled = buffer(n, 56 * 56 * 64);
  half *x = n.pooled;
  int h = 56, cin = 64;
  for (int stage = 0; stage < 4; ++stage)
    for (int b = 0; b < blocks[stage]; ++b) {
      const int mid = 64 << stage, stride = b == 0 && stage > 0 ? 2 : 1;
      half *shortcut = b == 0 ? add(n, x, h, cin, mid * 4, 1, stride, 0, nullptr) : x;
      half *t = add(n, x, h, cin, mid, 1, 1, 1, nullptr);
      t = add(n, t, h, mid, mid, 3, stride, 1, nullptr);
      h /= stride;
      x = add(n, t, h, mid, mid * 4, 1, 1, 1, shortcut);
      cin = mid * 4;
    }
  n.last = x;
  n.mean = buffer(n, 2048);
  CHECK(cudaMalloc(&n.scores, (size_t)batch * 1000 * 4));
  n.fc_weights = at_device(halves((size_t)1000 * 2048, 1.0 / 45));
  n.fc_bias = at_device(floats(1000, 0.1));
  for (const tile_row &t : tiles) t.init();
}

static void run_max_pool(const network &n) {
  launch(maxpool_kernel, dim3(n.batch * 3136 * 8 / 256), 1, 256, 0, n.stream, (const half *)n.stem, n.pooled, n.batch);
}
static void run_tail(const network &n) {
  launch(pool_kernel, dim3(4, n.batch), 1, 256, 0, n.stream, (const half *)n.last, n.mean);
  launch(fc_kernel<8>, dim3(125, n.batch), 1, 256, 0, n.stream, (const half *)n.mean, n.scores, n.fc_weights, n.fc_bias,
         1000);
}
static void run_network(const network &n) {
  for (size_t i = 0; i < n.layers.size(); ++i) {
    if (i == 1) run_max_pool(n);
    tiles[n.layers[i].tile].go(n.layers[i].d, n.layers[i].split, n.stream);
  }
  run_tail(n);
}

static long blocks_of(const conv &c, const tile_row &t, int split) {
  return (long)split * (c.cout / t.bn) * ((c.d.m + t.bm - 1) / t.bm);
}

static bool fits(const network &n, const conv &c, const tile_row &t, int split) {
  if (t.vec != (c.cin % 8 ? 4 : 8) || c.cout % t.bn || split > c.d.kb || t.bytes(split) > 227 * 1024) return false;
  if (n.batch > 1) return split <= 2;
  const long blocks = blocks_of(c, t, split);
  return blocks >= 12 && blocks <= 600;
}

/* Times every tile and split that fits. */
static void tune(const network &n, conv &c) {
  static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16};
  for (int t = 0; t < NT; ++t)
    for (int split : splits) {
      if (!fits(n, c, tiles[t], split)) continue;
      launch_error = cudaSuccess;
      tiles[t].go(c.d, split, n.stream);
      CHECK(cudaStreamSynchronize(n.stream));
      if (launch_error != cudaSuccess) continue; /* a cluster that this device does not take */
      const float us = time_us([&] { tiles[t].go(c.d, split, n.stream); }, n.batch == 1 ? 20 : 2, n.stream);
      if (us < c.us) c.us = us, c.tile = t, c.split = split;
    }
  const tile_row &best = tiles[c.tile];
  printf("@%3d %4d -> %4d %dx%d s%d  %-18s split %2d  %5ld blocks  %8.2f us  %6.1f TFLOP/s\n", c.h, c.cin, c.cout,
         c.taps, c.taps, c.stride, best.name, c.split, blocks_of(c, best, c.split), c.us,
         2e-6 * c.d.m * c.cout * c.d.k / c.us);
  fflush(stdout);
}

static bool same_layer(const conv &a, const conv &b) {
  return a.h == b.h && a.cin == b.cin && a.cout == b.cout && a.taps == b.taps && a.stride == b.stride &&
         !a.residual == !b.residual;
}

/* Element o of output pixel p, first image. */
static double wanted(const conv &c, const std::vector<half> &x, int p, int o) {
  double v = c.b[o];
  for (int ky = 0; ky < c.taps; ++ky)
    for (int kx = 0; kx < c.taps; ++kx) {
      const int iy = p / c.d.ho * c.stride + ky - c.d.pad, ix = p % c.d.ho * c.stride + kx - c.d.pad;
      if (iy < 0 || ix < 0 || iy >= c.h || ix >= c.h) continue;
      const half *w = &c.w[(size_t)o * c.d.kb * 64 + (size_t)(ky * c.taps + kx) * c.cin];
      for (int k = 0; k < c.cin; ++k)
        v += (double)__half2float(x[((size_t)iy * c.h + ix) * c.cin + k]) * __half2float(w[k]);
    }
  return v;
}

/* Relative L2 of 256 elements drawn from the first image. */
static double error_of(const conv &c) {
  const size_t outputs = (size_t)c.d.ho * c.d.ho * c.cout;
  std::vector<half> x((size_t)c.h * c.h * c.cin), y(outputs), r(c.residual ? outputs : 0);
  CHECK(cudaMemcpy(x.data(), c.in, x.size() * 2, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(y.data(), c.out, y.size() * 2, cudaMemcpyDeviceToHost));
  if (c.residual) CHECK(cudaMemcpy(r.data(), c.residual, r.size() * 2, cudaMemcpyDeviceToHost));
  double difference = 0, norm = 0;
  for (int q = 0; q < 256; ++q) {
    const size_t at = (size_t)((number() + 1) / 2 * (double)outputs) % outputs;
    double v = wanted(c, x, (int)(at / c.cout), (int)(at % c.cout));
    if (c.residual) v += __half2float(r[at]);
    if (c.relu && v < 0) v = 0;
    const double got = __half2float(y[at]);
    difference += (got - v) * (got - v);
    norm += v * v;
  }
  return sqrt(difference / (norm + 1e-30));
}

int main(int argc, char **argv) {
  static network n;
  double worst = 0;
  float sum = 0;
  make_network(n, argc > 1 ? atoi(argv[1]) : 1);
  for (size_t i = 0; i < n.layers.size(); ++i) {
    conv &c = n.layers[i];
    if (i == 1) run_max_pool(n);
    CHECK(cudaStreamSynchronize(n.stream));
    for (size_t k = 0; k < i && c.tile < 0; ++k)
      if (same_layer(n.layers[k], c)) c.tile = n.layers[k].tile, c.split = n.layers[k].split, c.us = n.layers[k].us;
    if (c.tile < 0) tune(n, c);
    tiles[c.tile].go(c.d, c.split, n.stream);
    CHECK(cudaStreamSynchronize(n.stream));
    const double error = error_of(c);
    if (!(error < 1e-3)) printf("convolution %zu: error %g\n", i, error);
    worst = error > worst ? error : worst;
    sum += c.us;
  }
  run_tail(n);
  CHECK(cudaStreamSynchronize(n.stream));
  printf("b%d: %zu convolutions, sum of their times %.1f us, largest error %.1e\n", n.batch, n.layers.size(), sum,
         worst);
  printf("b%d network: %.2f us; four back to back: %.2f us each", n.batch,
         time_us([&] { run_network(n); }, 1, n.stream), time_us([&] { run_network(n); }, 4, n.stream));
  use_pdl = false;
  printf("; without dependent launch: %.2f us\n", time_us([&] { run_network(n); }, 1, n.stream));
  return worst < 1e-3 ? 0 : 1;
}
