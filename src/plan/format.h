/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - the engine file's fixed part.
 *
 *   0  8 bytes  magic "HONEENG\n"
 *   8  u32      format version
 *  12  u32      required-feature bits: a reader that does not know one refuses the file; 1: the weights are not in it,
 *               2: the ONNX model that it was built of is, from the next multiple of 4096 behind the weights to the end
 *  16  u64      bytes of the header (JSON text, at offset 64)
 *  24  u64      XXH3-64 of the header
 *  32  u64      offset of the weights, a multiple of 4096
 *  40  u64      bytes of the weights, also where they are not in the file
 *  48  u64      bytes of the whole file
 *  56  u64      XXH3-64 of bytes 0..55
 * All little-endian. The weights' hashes, one a MiB, and the model's stand in the header. */
#ifndef HN_PLAN_FORMAT_H
#define HN_PLAN_FORMAT_H

#include <stdint.h>

#define HN_ENGINE_MAGIC "HONEENG\n"
enum { HN_ENGINE_VERSION = 3, HN_ENGINE_FIXED_BYTES = 64, HN_ENGINE_ALIGNMENT = 4096 };
enum {
  HN_ENGINE_STRIPPED = 1,
  HN_ENGINE_WITH_MODEL = 2,
  HN_ENGINE_FEATURES = HN_ENGINE_STRIPPED | HN_ENGINE_WITH_MODEL
};
enum { HN_WEIGHT_PAGE_BYTES = 1 << 20 };

typedef struct hn_engine_fixed {
  char magic[8];
  uint32_t version, features;
  uint64_t header_bytes, header_hash, weights_offset, weights_bytes, file_bytes, fixed_hash;
} hn_engine_fixed;
_Static_assert(sizeof(hn_engine_fixed) == HN_ENGINE_FIXED_BYTES, "the fixed part has no holes");

#endif
