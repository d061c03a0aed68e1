/* SPDX-License-Identifier: Apache-2.0 */
/* winograd.h - 3x3 convolutions with stride 1 by minimal filtering (A. Lavin and S. Gray, "Fast Algorithms for
 * Convolutional Neural Networks", 2015), f32, on channel-blocked images.
 *
 * An image is cut into tiles of m x m outputs, m = 2 or 4. Each needs a patch of e x e inputs, e = m + 2. Patches and
 * weights are transformed; then each of the e * e places of a patch is a matrix product of its own,
 *
 *   product[place][tile][o] = sum over i of patches[place][tile][i] * weights[place][i][o]
 *
 * and the inverse transform of a tile's products is its outputs. That takes e * e instead of 9 * m * m multiplications
 * a tile and channel pair: 2.25 (m = 2) and 4 (m = 4) times fewer. The interpolation points are 0, +-1, infinity for
 * m = 2 and 0, +-3/4, +-3/2, infinity for m = 4: all constants are exact, and the relative L2 error is about 1e-6, half
 * of what the usual 0, +-1, +-2 give: of a tile's largest values, so that small ones beside them are less exact.
 *
 * A NaN, an infinity or a number beyond 2^90 would reach all outputs of the tiles that read it. Such tiles are found by
 * their products and computed again as plain sums, with the weights that the transformed ones came from: a weight below
 * 2^-20 of its kernel's largest counts as zero there. Weights themselves must be finite and below 2^60.
 *
 * Layouts, B = 16 or 8 (images as in conv.h):
 *   weights  [ceil(O / B)][places][ceil(I / B)][B in][B out], lanes beyond O and I are zero
 *   patches  [places][ceil(I / B)][tiles][B], patch_step floats from one place to the next
 *   product  [places][oc_blocks][tiles][B], product_step floats from one place to the next
 *
 * Work is given by tiles, counted through all images, and by blocks of channels; calls for different ones are
 * independent, and results do not depend on how they are cut. */
#ifndef HN_KERNELS_CPU_CONV_WINOGRAD_H
#define HN_KERNELS_CPU_CONV_WINOGRAD_H

#include "kernels/cpu/conv/conv.h"

typedef struct hn_winograd_f32 {
  hn_conv_f32 conv; /* 3x3, stride and dilation 1, groups 1; oc_blocks, no units */
  int64_t outputs;  /* m */
  int64_t tiles_across, tiles_down, tiles;
  int64_t call_tiles; /* of one call of patches and product: what the layouts above call tiles */
  int64_t patch_step, product_step;
} hn_winograd_f32;

/* Fills all but conv from conv's extents and oc_blocks. Steps are odd numbers of cache lines, so that the places of a
 * tile do not fall into one set of a cache. */
void hn_winograd_f32_plan(hn_winograd_f32 *winograd, int64_t outputs, int64_t call_tiles, int block);
static inline int64_t hn_winograd_f32_places(int64_t outputs) { return (outputs + 2) * (outputs + 2); }
int64_t hn_winograd_f32_patch_floats(const hn_winograd_f32 *winograd);
int64_t hn_winograd_f32_product_floats(const hn_winograd_f32 *winograd);

int64_t hn_winograd_f32_packed_floats(int64_t out_channels, int64_t in_channels, int64_t outputs, int block);
/* From OIHW, in double, rounded once. Blocks [block_begin, block_end) of output channels. */
void hn_winograd_f32_pack_c(const float *oihw, int64_t out_channels, int64_t in_channels, int64_t outputs, int block,
                            int64_t block_begin, int64_t block_end, float *packed);

/* The patches of tiles [first, first + count), count <= call_tiles, in input blocks [block_begin, block_end). */
void hn_winograd_f32_patches_nchw16c_avx512(const hn_winograd_f32 *winograd, int64_t first, int64_t count,
                                            int64_t block_begin, int64_t block_end, float *patches);
void hn_winograd_f32_patches_nchw8c_avx2(const hn_winograd_f32 *winograd, int64_t first, int64_t count,
                                         int64_t block_begin, int64_t block_end, float *patches);
void hn_winograd_f32_patches_nchw8c_c(const hn_winograd_f32 *winograd, int64_t first, int64_t count,
                                      int64_t block_begin, int64_t block_end, float *patches);

/* The outputs of the same tiles in sets [set_begin, set_end) of oc_blocks output blocks; product is scratch. */
void hn_winograd_f32_outputs_nchw16c_avx512(const hn_winograd_f32 *winograd, int64_t first, int64_t count,
                                            int64_t set_begin, int64_t set_end, const float *patches, float *product);
void hn_winograd_f32_outputs_nchw8c_avx2(const hn_winograd_f32 *winograd, int64_t first, int64_t count,
                                         int64_t set_begin, int64_t set_end, const float *patches, float *product);
void hn_winograd_f32_outputs_nchw8c_c(const hn_winograd_f32 *winograd, int64_t first, int64_t count, int64_t set_begin,
                                      int64_t set_end, const float *patches, float *product);

#endif
