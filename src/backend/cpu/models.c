/* SPDX-License-Identifier: Apache-2.0 */
/* models.c - how many multiply-adds a core begins a clock, by its model: what a measured roof can be at most. Sources:
 * Intel's optimisation manual and AMD's software optimisation guides; uops.info where those are silent. */
#include "backend/cpu/cpu.h"
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>

typedef struct model {
  unsigned family, first, last; /* models, as CPUID leaf 1 puts them together */
  uint16_t ports, bits;         /* that multiply and add, and how wide each is */
  bool bytes, halves;           /* VNNI and AVX512_BF16 go through all of the ports */
} model;

/* Where several rows hold a model, the first counts. Intel's cores whose upper ports join for 512 bits have as much of
 * that as of 256. Some small Xeons of model 0x55 have one port of 512 bits; they are told wrongly. */
static const model amd[] = {{0x17, 0x00, 0x2f, 2, 128, false, false}, /* Zen, Zen+ */
                            {0x17, 0x30, 0xff, 2, 256, false, false}, /* Zen 2 */
                            {0x19, 0x10, 0x1f, 2, 256, true, true},   /* Zen 4: Genoa */
                            {0x19, 0x60, 0xaf, 2, 256, true, true},   /* Zen 4: Raphael, Phoenix, Bergamo */
                            {0x19, 0x00, 0x5f, 2, 256, false, false}, /* Zen 3 */
                            {0x1a, 0x20, 0x2f, 2, 256, true, true},   /* Zen 5 of notebooks */
                            {0x1a, 0x60, 0x6f, 2, 256, true, true},
                            {0x1a, 0x00, 0x7f, 2, 512, true, true}}; /* Zen 5: Turin, Granite Ridge, Strix Halo */
static const model intel[] = {
    {6, 0x3c, 0x3d, 2, 256, false, false},                                        /* Haswell, Broadwell */
    {6, 0x3f, 0x3f, 2, 256, false, false},                                        /* Haswell-E */
    {6, 0x45, 0x47, 2, 256, false, false}, {6, 0x4e, 0x4f, 2, 256, false, false}, /* Skylake, Broadwell-E */
    {6, 0x55, 0x55, 2, 512, true, false}, /* Skylake-SP, Cascade Lake, Cooper Lake */
    {6, 0x56, 0x56, 2, 256, false, false}, {6, 0x5e, 0x5e, 2, 256, false, false}, /* Skylake */
    {6, 0x6a, 0x6c, 2, 512, true, false},                                         /* Ice Lake-SP */
    {6, 0x7d, 0x7e, 2, 256, true, false},                                         /* Ice Lake */
    {6, 0x8c, 0x8d, 2, 256, true, false},                                         /* Tiger Lake */
    {6, 0x8e, 0x8e, 2, 256, false, false},                                        /* Kaby Lake */
    {6, 0x8f, 0x8f, 2, 512, true, false},                                         /* Sapphire Rapids */
    {6, 0x9e, 0x9e, 2, 256, false, false},                                        /* Coffee Lake */
    {6, 0xa5, 0xa6, 2, 256, false, false},                                        /* Comet Lake */
    {6, 0xa7, 0xa7, 2, 256, true, false},                                         /* Rocket Lake */
    {6, 0xad, 0xae, 2, 512, true, false},                                         /* Granite Rapids */
    {6, 0x97, 0x97, 2, 256, true, false},                                         /* Alder Lake */
    {6, 0x9a, 0x9a, 2, 256, true, false},  {6, 0xb7, 0xb7, 2, 256, true, false},  /* Raptor Lake */
    {6, 0xba, 0xba, 2, 256, true, false},  {6, 0xbf, 0xbf, 2, 256, true, false},
    {6, 0xcf, 0xcf, 2, 512, true, false}}; /* Emerald Rapids */

/* Only these have f16 or tiles; a virtual machine may give another number as its model. */
static const model intel_server = {6, 0, 0, 2, 512, true, false};

static const model *find_model(uint32_t isa) {
  unsigned a, b, c, d, eax;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return NULL;
  const bool is_amd = b == signature_AMD_ebx && c == signature_AMD_ecx,
             is_intel = b == signature_INTEL_ebx && c == signature_INTEL_ecx;
  if (!__get_cpuid(1, &eax, &b, &c, &d) || (!is_amd && !is_intel)) return NULL;
  /* cores of two kinds, of which a thread runs on either: no number is right */
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 15 & 1) return NULL;
  const unsigned base = eax >> 8 & 0xf, family = base == 0xf ? base + (eax >> 20 & 0xff) : base,
                 number = (eax >> 4 & 0xf) | (eax >> 12 & 0xf0);
  if (is_intel && (isa & HONE_ISA_AVX512_FP16) == HONE_ISA_AVX512_FP16) return &intel_server;
  const model *rows = is_amd ? amd : intel;
  for (size_t i = 0; i < (is_amd ? HN_COUNT(amd) : HN_COUNT(intel)); ++i)
    if (rows[i].family == family && number >= rows[i].first && number <= rows[i].last) return &rows[i];
  return NULL;
}

/* Threads that share a core: CPUID leaf 11. */
static int threads_a_core(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(11, 0, &a, &b, &c, &d) || (c >> 8 & 0xff) != 1) return 1;
  return (b & 0xffff) > 1 ? (int)(b & 0xffff) : 1;
}

static void set(hone_facts *facts, hone_roof roof, unsigned ports, unsigned lanes) {
  facts->ports[roof] = (uint16_t)ports;
  facts->lanes[roof] = (uint16_t)lanes;
}

void hn_cpu_model(hone_facts *facts) {
  const uint32_t isa = facts->isa;
  const int shared = threads_a_core();
  const long online = sysconf(_SC_NPROCESSORS_ONLN), cores = ((online > 0 ? online : 1) + shared - 1) / shared;
  facts->cores = facts->threads < cores ? facts->threads : (int)cores;
  const model *m = find_model(isa);
  if (!m || (isa & HONE_ISA_AVX2) != HONE_ISA_AVX2) return;
  const unsigned bits = m->bits > 256 && (isa & HONE_ISA_AVX512) != HONE_ISA_AVX512 ? 256 : m->bits;
  set(facts, HONE_ROOF_F64, m->ports, bits / 64);
  set(facts, HONE_ROOF_F32, m->ports, bits / 32);
  if ((isa & HONE_ISA_AVX512_FP16) == HONE_ISA_AVX512_FP16) set(facts, HONE_ROOF_F16, m->ports, bits / 16);
  if (m->halves && (isa & HONE_ISA_AVX512_BF16) == HONE_ISA_AVX512_BF16)
    set(facts, HONE_ROOF_BF16, m->ports, bits / 16);
  const bool has_bytes =
      (isa & HONE_ISA_AVX512_VNNI) == HONE_ISA_AVX512_VNNI || (isa & HONE_ISA_AVX_VNNI) == HONE_ISA_AVX_VNNI;
  if (m->bytes && has_bytes) set(facts, HONE_ROOF_INT8, m->ports, bits / 8);
  /* 16 rows by 16 columns by 32 halves or 64 bytes in 16 clocks */
  if ((isa & HONE_ISA_AMX_BF16) == HONE_ISA_AMX_BF16) set(facts, HONE_ROOF_BF16, 1, 512);
  if ((isa & HONE_ISA_AMX_INT8) == HONE_ISA_AMX_INT8) set(facts, HONE_ROOF_INT8, 1, 1024);
}
#else
void hn_cpu_model(hone_facts *facts) {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  facts->cores = online > 0 && facts->threads > online ? (int)online : facts->threads;
}
#endif
