/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - what this machine's CPU is and can. Source: Intel's and AMD's manuals, CPUID leaves 1 and 0x80000002-4. */
#include "backend/cpu/cpu.h"
#include "base/text.h"
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

#if defined(__x86_64__)
static void cpu_name(char *out, size_t room) {
  unsigned words[12] = {0}, top = __get_cpuid_max(0x80000000U, NULL);
  hn_copy_text(out, room, "x86-64");
  if (top < 0x80000004U) return;
  for (unsigned i = 0; i < 3; ++i)
    __get_cpuid(0x80000002U + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
  char text[sizeof words + 1] = {0};
  memcpy(text, words, sizeof words);
  hn_copy_text(out, room, text + strspn(text, " "));
}

/* Tiles are state that the kernel switches with a thread, so it must have agreed to that: XCR0's bits 17 and 18, and a
 * permission that a process asks for once and for all of its threads (Linux: Documentation/arch/x86/xstate.rst). */
static bool is_tile_state_granted(void) {
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, XCR0_TILES = 3 << 17 };
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & XCR0_TILES) == XCR0_TILES && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* One word of isa.inc's feature lists. What has no builtin needs the state that another word of its row stands for;
 * tiles alone need their own. */
static bool has_feature(const char *word, size_t length) {
  enum { EAX, EBX, ECX, EDX, WORDS };
  unsigned leaf1[WORDS] = {0}, leaf7[WORDS] = {0}, leaf7_1[WORDS] = {0};
  (void)__get_cpuid(1, &leaf1[EAX], &leaf1[EBX], &leaf1[ECX], &leaf1[EDX]);
  (void)__get_cpuid_count(7, 0, &leaf7[EAX], &leaf7[EBX], &leaf7[ECX], &leaf7[EDX]);
  if (leaf7[EAX] >= 1) (void)__get_cpuid_count(7, 1, &leaf7_1[EAX], &leaf7_1[EBX], &leaf7_1[ECX], &leaf7_1[EDX]);
  const struct {
    const char *name;
    bool there;
  } features[] = {{"avx2", __builtin_cpu_supports("avx2") != 0},
                  {"fma", __builtin_cpu_supports("fma") != 0},
                  {"f16c", leaf1[ECX] >> 29 & 1},
                  {"avx_vnni", leaf7_1[EAX] >> 4 & 1},
                  {"avx512f", __builtin_cpu_supports("avx512f") != 0},
                  {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
                  {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
                  {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
                  {"avx512_vnni", leaf7[ECX] >> 11 & 1},
                  {"avx512_bf16", leaf7_1[EAX] >> 5 & 1},
                  {"avx512_fp16", leaf7[EDX] >> 23 & 1},
                  {"amx_tile", leaf7[EDX] >> 24 & 1},
                  {"amx_bf16", leaf7[EDX] >> 22 & 1},
                  {"amx_int8", leaf7[EDX] >> 25 & 1}};
  for (size_t i = 0; i < HN_COUNT(features); ++i)
    if (strlen(features[i].name) == length && memcmp(features[i].name, word, length) == 0) return features[i].there;
  return false;
}
#else
static void cpu_name(char *out, size_t room) { hn_copy_text(out, room, "portable C"); }

static bool has_feature(const char *word, size_t length) {
  (void)word, (void)length;
  return false;
}

static bool is_tile_state_granted(void) { return false; }
#endif

static bool has_features(const char *words) {
  while (*words) {
    const size_t length = strcspn(words, " ");
    if (length > 0 && !has_feature(words, length)) return false;
    words += length + strspn(words + length, " ");
  }
  return true;
}

/* Sets that need tiles are refused where the operating system keeps those to itself. */
static uint32_t isa_bits(uint32_t *out_refused) {
  static const struct {
    uint32_t bit;
    const char *features;
  } rows[] = {
#define HN_ISA(suffix, name, f32, own, type, flags, features) {HONE_ISA_##name, features},
#include "device/isa.inc"
#undef HN_ISA
  };
  uint32_t bits = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  uint32_t tiles = 0;
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    if (!has_features(rows[i].features)) continue;
    bits |= rows[i].bit;
    if (strstr(rows[i].features, "amx_tile")) tiles |= rows[i].bit;
  }
  *out_refused = tiles && !is_tile_state_granted() ? tiles : 0;
  return bits & ~*out_refused;
}

/* Data and shared caches as this core sees them: CPUID leaf 4, on AMD 0x8000001D of the same layout. The C library
 * may count the third cache of a whole package, of which a core reaches a part. */
static void cache_sizes(size_t *out_bytes) {
#if defined(__x86_64__)
  enum { EAX, EBX, ECX, EDX, WORDS, TYPE = 0x1f, INSTRUCTIONS = 2 };
  static const unsigned leaves[] = {4, 0x8000001DU};
  for (size_t l = 0; l < HN_COUNT(leaves); ++l) {
    unsigned w[WORDS];
    for (unsigned i = 0; __get_cpuid_count(leaves[l], i, &w[EAX], &w[EBX], &w[ECX], &w[EDX]); ++i) {
      const unsigned type = w[EAX] & TYPE, level = w[EAX] >> 5 & 7;
      if (type == 0) break;
      if (type == INSTRUCTIONS || level < 1 || level > 3) continue;
      const size_t ways = (w[EBX] >> 22) + 1, parts = (w[EBX] >> 12 & 0x3ff) + 1, line = (w[EBX] & 0xfff) + 1;
      out_bytes[level - 1] = ways * parts * line * ((size_t)w[ECX] + 1);
    }
    if (out_bytes[0] > 0) return;
  }
#endif
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  for (size_t i = 0; i < HN_COUNT(names); ++i) {
    const long bytes = sysconf(names[i]);
    out_bytes[i] = bytes > 0 ? (size_t)bytes : 0;
  }
#endif
}

void hn_cpu_facts(hone_facts *facts) {
  cpu_name(facts->name, sizeof facts->name);
  hn_copy_text(facts->version, sizeof facts->version, HONE_VERSION_STRING);
  facts->isa = isa_bits(&facts->isa_refused);
  size_t caches[3] = {0};
  cache_sizes(caches);
  facts->l1_bytes = caches[0];
  facts->l2_bytes = caches[1];
  facts->l3_bytes = caches[2];
  hn_cpu_model(facts);
}
