/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c - what this machine's CPU is and can. Source: Intel's and AMD's manuals, CPUID leaves 1 and 0x80000002-4. */
#include "backend/cpu/cpu.h"
#include "base/text.h"
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
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

static bool has_f16c(void) {
  unsigned a, b, c = 0, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & (1U << 29));
}

/* One word of isa.inc's feature lists; the builtin asks the operating system too, f16c needs what avx2 does. */
static bool has_feature(const char *word, size_t length) {
  const struct {
    const char *name;
    bool there;
  } features[] = {{"avx2", __builtin_cpu_supports("avx2") != 0},
                  {"fma", __builtin_cpu_supports("fma") != 0},
                  {"f16c", has_f16c()},
                  {"avx512f", __builtin_cpu_supports("avx512f") != 0},
                  {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
                  {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
                  {"avx512vl", __builtin_cpu_supports("avx512vl") != 0}};
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
#endif

static bool has_features(const char *words) {
  while (*words) {
    const size_t length = strcspn(words, " ");
    if (length > 0 && !has_feature(words, length)) return false;
    words += length + strspn(words + length, " ");
  }
  return true;
}

static uint32_t isa_bits(void) {
  static const struct {
    uint32_t bit;
    const char *features;
  } rows[] = {
#define HN_ISA(suffix, name, flags, features) {HONE_ISA_##name, features},
#include "device/isa.inc"
#undef HN_ISA
  };
  uint32_t bits = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  for (size_t i = 0; i < HN_COUNT(rows); ++i)
    if (has_features(rows[i].features)) bits |= rows[i].bit;
  return bits;
}

#if defined(_SC_LEVEL1_DCACHE_SIZE)
static size_t cache_bytes(int name) {
  const long bytes = sysconf(name);
  return bytes > 0 ? (size_t)bytes : 0;
}
#endif

void hn_cpu_facts(hone_facts *facts) {
  cpu_name(facts->name, sizeof facts->name);
  hn_copy_text(facts->version, sizeof facts->version, HONE_VERSION_STRING);
  facts->isa = isa_bits();
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  facts->l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  facts->l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  facts->l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
#endif
}
