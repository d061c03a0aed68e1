/* SPDX-License-Identifier: Apache-2.0 */
/* isa.h - bits of hone_facts.isa and hone_tactic.isa for CPUs, from isa.inc. The first row needs nothing: bit 0 is the
 * second row's. */
#ifndef HN_DEVICE_ISA_H
#define HN_DEVICE_ISA_H

enum {
#define HN_ISA(suffix, name, f32, own, type, flags, features) HN_ISA_ROW_##name,
#include "device/isa.inc"
#undef HN_ISA
  HN_ISA_ROW_COUNT
};

enum {
#define HN_ISA(suffix, name, f32, own, type, flags, features)                                                          \
  HONE_ISA_##name = HN_ISA_ROW_##name == 0 ? 0 : 1 << (HN_ISA_ROW_##name - 1),
#include "device/isa.inc"
#undef HN_ISA
};

#endif
