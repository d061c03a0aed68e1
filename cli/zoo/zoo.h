/* SPDX-License-Identifier: Apache-2.0 */
/* zoo.h - standard networks with seeded weights, built with the public network calls alone.
 *
 * Weights are drawn so that activations neither vanish nor explode: variance GAIN / fan-in (He et al. 2015 before a
 * ReLU, Glorot and Bengio 2010 elsewhere), residual branches damped. Errors stick in the net: after the first failing
 * call the others do nothing and return NULL, so that a network reads as its architecture. */
#ifndef CLI_ZOO_ZOO_H
#define CLI_ZOO_ZOO_H

#include <hone/hone.h>

/* The decoder's extents. width is a multiple of heads, heads one of kv_heads. */
typedef struct zoo_decoder {
  int64_t layers, width, heads, kv_heads, hidden, vocabulary, positions;
  bool tied; /* the embedding's table makes the logits, too */
} zoo_decoder;
extern const zoo_decoder cli_zoo_decoder; /* what stands where nothing is asked for */

typedef struct zoo_options {
  zoo_decoder decoder; /* layers 0: cli_zoo_decoder */
  int64_t batch;
  bool dynamic; /* the batch is the symbol N */
  uint64_t seed;
} zoo_options;

enum { ZOO_NAMES = 32, ZOO_NAME_BYTES = 96 };

typedef struct zoo_net {
  hone_context *context;
  hone_graph *graph;
  zoo_options options;
  uint64_t random; /* state of the weights' generator */
  hone_status status;
  char names[ZOO_NAMES][ZOO_NAME_BYTES]; /* of zoo_name() */
  int next_name;
} zoo_net;

typedef struct zoo_row {
  const char *name, *doc;
  const char *inputs; /* for the list */
  double parameters, flops;
  void (*build)(zoo_net *net);
} zoo_row;

extern const zoo_row cli_zoo_rows[]; /* ends with name NULL */
/* Builds a row's graph; the caller destroys it. */
hone_status cli_zoo_build(hone_context *context, const zoo_row *row, const zoo_options *options,
                          hone_graph **out_graph);

void zoo_bert_base(zoo_net *net);
void zoo_decoder_build(zoo_net *net);
void zoo_densenet121(zoo_net *net);
void zoo_efficientnet_b0(zoo_net *net);
void zoo_encoder6(zoo_net *net);
void zoo_facenet(zoo_net *net);
void zoo_facenet_planted(zoo_net *net);
void zoo_lenet5(zoo_net *net);
void zoo_lstm2(zoo_net *net);
void zoo_mobilenet_v2(zoo_net *net);
void zoo_mobilenet_v3_large(zoo_net *net);
void zoo_resnet18(zoo_net *net);
void zoo_resnet50(zoo_net *net);
void zoo_shufflenet_v2(zoo_net *net);
void zoo_squeezenet1_1(zoo_net *net);
void zoo_unet32(zoo_net *net);
void zoo_vit_b_16(zoo_net *net);
void zoo_yolo(zoo_net *net);

/* ---- pieces (layers.c) ---- */
#define ZOO_HE 2.0     /* the input is the output of a ReLU: half of its variance is gone */
#define ZOO_LINEAR 1.0 /* the input has mean 0 */
#define ZOO_SWISH 2.8  /* the input is the output of a SiLU or HardSwish of something of variance 1 */

/* The first dim is the batch; dims are the others. */
hone_value *zoo_input(zoo_net *net, const char *name, hone_dtype dtype, int rank, const int64_t *dims);
void zoo_output(zoo_net *net, const char *name, hone_value *value);
/* Uniform in middle +- spread. name gets the suffix. */
hone_value *zoo_weight(zoo_net *net, const char *name, const char *suffix, int rank, const int64_t *dims, double middle,
                       double spread);
hone_value *zoo_floats(zoo_net *net, const char *name, int rank, const int64_t *dims, const float *data); /* copied */
hone_value *zoo_scalar(zoo_net *net, const char *name, double value);
hone_value *zoo_ints(zoo_net *net, const char *name, int rank, int count, const int64_t *values);
int64_t zoo_extent(zoo_net *net, const hone_value *value, int axis);

/* A node with one output. */
hone_value *zoo_node(zoo_net *net, const char *op, const char *name, int in_count, hone_value *const *inputs,
                     int attr_count, const hone_attr *attrs);
hone_value *zoo_unary(zoo_net *net, const char *op, const char *name, hone_value *x);
hone_value *zoo_binary(zoo_net *net, const char *op, const char *name, hone_value *a, hone_value *b);

typedef struct zoo_conv_shape {
  int64_t channels, kernel, stride, pad, groups;
  double gain;
  bool no_bias;
  int64_t width; /* of a kernel that is not square, padded by half of it; kernel and pad are then its height's */
  double bias;   /* how far biases spread; 0: 0.1 */
} zoo_conv_shape;
hone_value *zoo_conv(zoo_net *net, const char *name, hone_value *x, const zoo_conv_shape *shape);
/* A convolution without bias and the normalisation of its output, whose variance should be about 1: two nodes, or
 * (keep false) one with the normalisation folded into its weights. Both draw the same numbers. */
hone_value *zoo_conv_norm(zoo_net *net, const char *name, hone_value *x, const zoo_conv_shape *shape, double epsilon,
                          bool keep);
/* The stride is the kernel, so that each output has one tap of each channel. */
hone_value *zoo_conv_transpose(zoo_net *net, const char *name, hone_value *x, int64_t channels, int64_t kernel,
                               double gain);
/* variance: about that of x, which the running variance is set around; scale: the middle of gamma. */
hone_value *zoo_batch_norm(zoo_net *net, const char *name, hone_value *x, double variance, double scale);
hone_value *zoo_layer_norm(zoo_net *net, const char *name, hone_value *x, double epsilon);
hone_value *zoo_max_pool(zoo_net *net, const char *name, hone_value *x, int64_t kernel, int64_t stride, int64_t pad,
                         bool ceil_mode);
hone_value *zoo_average_pool(zoo_net *net, const char *name, hone_value *x, int64_t kernel, int64_t stride);
hone_value *zoo_clip6(zoo_net *net, const char *name, hone_value *x);
hone_value *zoo_gemm(zoo_net *net, const char *name, hone_value *x, int64_t outputs, double gain); /* x: [N, K] */
/* MatMul and Add over the last axis, as exporters write a linear layer of rank above 2. */
hone_value *zoo_matmul_add(zoo_net *net, const char *name, hone_value *x, int64_t outputs, double gain);
/* 0.5 x (1 + erf(x / sqrt(2))), in the five nodes that exporters write. */
hone_value *zoo_gelu(zoo_net *net, const char *name, hone_value *x);
hone_value *zoo_reshape(zoo_net *net, const char *name, hone_value *x, int rank, const int64_t *dims);
hone_value *zoo_transpose(zoo_net *net, const char *name, hone_value *x, int rank, const int64_t *perm);
hone_value *zoo_concat(zoo_net *net, const char *name, int count, hone_value *const *inputs, int64_t axis);
/* parts: room for count values, which are NULL after a failure. */
void zoo_split(zoo_net *net, const char *name, hone_value *x, int64_t axis, int count, const int64_t *extents,
               hone_value **parts);
hone_value *zoo_slice(zoo_net *net, const char *name, hone_value *x, int64_t axis, int64_t first, int64_t last);
hone_value *zoo_softmax(zoo_net *net, const char *name, hone_value *x, int64_t axis);
hone_value *zoo_silu(zoo_net *net, const char *name, hone_value *x);         /* Sigmoid and Mul */
hone_value *zoo_hard_sigmoid(zoo_net *net, const char *name, hone_value *x); /* clamp(x / 6 + 0.5) */
typedef enum zoo_act { ZOO_RELU, ZOO_SILU, ZOO_HARD_SWISH } zoo_act;
hone_value *zoo_activation(zoo_net *net, const char *name, hone_value *x, zoo_act act);

/* ---- blocks of the mobile networks (mobile.c) ---- */
/* Squeeze and excitation (Hu et al. 2018): x times a gate made of its channels' means. */
hone_value *zoo_squeeze_excite(zoo_net *net, const char *name, hone_value *x, int64_t squeezed, zoo_act act);
typedef struct zoo_inverted {
  int64_t hidden, channels, kernel, stride, squeezed; /* hidden as x has it: no expansion; squeezed 0: no gate */
  zoo_act act, gate_act; /* gate_act: inside the gate, whose end is a HardSigmoid after ZOO_RELU, else a Sigmoid */
} zoo_inverted;
/* Expansion, depthwise convolution, gate, projection; added to x where the shapes agree. */
hone_value *zoo_inverted_residual(zoo_net *net, const char *name, hone_value *x, const zoo_inverted *shape);

/* ---- transformer pieces (transformer.c) ---- */
typedef struct zoo_attention {
  int64_t width, heads, tokens;
  double damping; /* gain of the projection into the residual stream */
} zoo_attention;
/* q, k, v: [N, tokens, width]; mask (may be NULL) is added to the scores. Returns [N, tokens, width]. */
hone_value *zoo_attend(zoo_net *net, const char *name, const zoo_attention *shape, hone_value *q, hone_value *k,
                       hone_value *v, hone_value *mask);
/* linear, gelu, linear */
hone_value *zoo_mlp(zoo_net *net, const char *name, hone_value *x, int64_t hidden, double damping);

/* "prefix.%d.rest" and the like, in a ring of buffers: good for the next 31 calls. */
const char *zoo_name(zoo_net *net, const char *format, ...) HONE_PRINTF(2, 3);

#endif
