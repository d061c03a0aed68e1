/* SPDX-License-Identifier: Apache-2.0 */
/* roofs.c - the words for roofs, and whose they are. */
#include "base/diag.h"
#include "device/device.h"
#include <hone/device.h>

const char *hone_roof_name(hone_roof roof) {
  static const char *const names[HONE_ROOF_COUNT] = {
      [HONE_ROOF_F64] = "f64",   [HONE_ROOF_F32] = "f32", [HONE_ROOF_TF32] = "tf32",    [HONE_ROOF_F16] = "f16",
      [HONE_ROOF_BF16] = "bf16", [HONE_ROOF_FP8] = "fp8", [HONE_ROOF_INT8] = "int8",    [HONE_ROOF_L1] = "L1",
      [HONE_ROOF_L2] = "L2",     [HONE_ROOF_L3] = "L3",   [HONE_ROOF_MEMORY] = "memory"};
  return roof >= 0 && roof < HONE_ROOF_COUNT ? names[roof] : "none";
}

hone_roof hn_roof_of_type(hone_dtype type) {
  switch (type) {
  case HONE_F64: return HONE_ROOF_F64;
  case HONE_F32: return HONE_ROOF_F32;
  case HONE_F16: return HONE_ROOF_F16;
  case HONE_BF16: return HONE_ROOF_BF16;
  case HONE_TF32: return HONE_ROOF_TF32;
  case HONE_I8:
  case HONE_U8: return HONE_ROOF_INT8;
  default: return HONE_ROOF_COUNT;
  }
}
