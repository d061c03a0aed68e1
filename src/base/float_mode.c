/* SPDX-License-Identifier: Apache-2.0 */
/* float_mode.c - the two bits of x86, the one of aarch64; other processors have no such mode that we know of. */
#include "base/float_mode.h"

#if defined(__SSE2__)
#define FLUSH_BITS UINT64_C(0x8040) /* MXCSR: flush to zero, denormals are zeros */
static uint64_t read_control(void) { return __builtin_ia32_stmxcsr(); }
static void write_control(uint64_t bits) { __builtin_ia32_ldmxcsr((unsigned)bits); }
#elif defined(__aarch64__)
#define FLUSH_BITS (UINT64_C(1) << 24) /* FPCR.FZ */
static uint64_t read_control(void) {
  uint64_t bits;
  __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
static void write_control(uint64_t bits) { __asm__ volatile("msr fpcr, %0" : : "r"(bits)); }
#else
#define FLUSH_BITS UINT64_C(0)
static uint64_t read_control(void) { return 0; }
static void write_control(uint64_t bits) { (void)bits; }
#endif

hn_float_mode hn_float_mode_get(void) { return read_control() & FLUSH_BITS; }

void hn_float_mode_set(hn_float_mode mode) {
  const uint64_t control = read_control(), wanted = (control & ~FLUSH_BITS) | mode;
  if (wanted != control) write_control(wanted);
}

hn_float_mode hn_float_mode_flush(bool flush) {
  const hn_float_mode before = hn_float_mode_get();
  hn_float_mode_set(flush ? FLUSH_BITS : 0);
  return before;
}
