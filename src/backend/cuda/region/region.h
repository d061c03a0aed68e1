/* SPDX-License-Identifier: Apache-2.0 */
/* region.h - several layers as one kernel: what the families share. Plain C on extents, but for the query. */
#ifndef HN_BACKEND_CUDA_REGION_H
#define HN_BACKEND_CUDA_REGION_H

#include "backend/cuda/cuda.h"
#include "kernels/cuda/region/lay_out.h"

enum {
  HN_REGION_X,
  HN_REGION_EXPAND,
  HN_REGION_EXPAND_BIAS,
  HN_REGION_DEPTHWISE,
  HN_REGION_DEPTHWISE_BIAS,
  HN_REGION_PROJECT,
  HN_REGION_PROJECT_BIAS,
  HN_REGION_RESIDUAL,
  HN_REGION_PORTS
};

typedef struct hn_region_act {
  hn_activation kind;
  float alpha, beta;
} hn_region_act;

typedef struct hn_region_query {
  hn_region region; /* without a tile */
  int n;
  hn_region_act act[3]; /* of the expansion, the depthwise convolution, the projection */
} hn_region_query;

/* The attributes of one layer, without its prefix. */
typedef struct hn_region_layer_attrs {
  hone_attr items[HONE_MAX_ATTRS];
  hone_attrs attrs;
} hn_region_layer_attrs;
void hn_region_attrs_behind(const hone_query *query, const char *prefix, hn_region_layer_attrs *out);
/* The activation among the attributes that begin with prefix; a constant of plain floats; else why not. */
const char *hn_region_read_act(const hone_query *query, const char *prefix, hn_region_act *out);
const char *hn_region_check_constant(const hone_query *query, int port, int rank);
/* Element i of a constant, 0 of one that is not given. */
float hn_region_constant(const hone_query *query, int port, int64_t i);
/* An inverted residual's extents, or the reason why it is not taken. */
const char *hn_region_read(const hone_query *query, hn_region_query *out);

/* Shared memory of a multiprocessor, and how many it has, as tiles are made for: 227 KB and 132 (H200). */
enum { HN_REGION_SHARED = 227 * 1024, HN_REGION_UNITS = 132, HN_REGION_LARGEST_SPLIT = 16 };

/* Tiles that look fast for n images, the best first; how many. */
int hn_region_tiles(const hn_region *region, int n, hn_region *out, int room);
bool hn_region_fits(const hn_region *region);
double hn_region_seconds(const hn_region *region, int n); /* expected */

/* The numbers below count that fit, the fastest first; how many. seconds_at: expected of a number, below 0: it does not
 * fit. */
int hn_region_order(void *state, int count, double (*seconds_at)(void *state, int number), int *out);

/* CUDA C of an activation, a struct of that name; how long it is. */
int hn_region_act_source(const hn_region_act *act, const char *name, char *out, size_t room);
/* CUDA C behind the texts of kernels/cuda/region, for one shape and tile: its constants and the kernel hn_kernel. */
enum { HN_REGION_CONSTANTS = 4096 };
bool hn_region_source(const hn_region_query *query, hone_dtype dtype, char *out, size_t room);
/* The kernel of these texts, one behind the other; all of a multiprocessor's shared memory is allowed. */
hone_status hn_region_compile(hone_unit *unit, const char *const *texts, int count, CUfunction *out,
                              hone_diagnostics *diag);
void hn_region_compile_soon(hone_unit *unit, const char *const *texts, int count);

#endif
