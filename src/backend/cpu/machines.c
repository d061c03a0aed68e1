/* SPDX-License-Identifier: Apache-2.0 */
/* machines.c - machines on paper, one row each: what a build for them would choose can be asked anywhere, and is the
 * same everywhere. The figures are round ones of common servers; changing a row changes tests/golden/plans.csv. */
#include "backend/cpu/cpu.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

#define GIGA 1e9
#define KI ((size_t)1024)

static const struct machine {
  const char *name;
  uint32_t isa;
  int threads;
  double flops, bytes; /* a second, of one thread */
  size_t l1_bytes, l2_bytes, l3_bytes;
} machines[] = {
    {"amx",
     HONE_ISA_C | HONE_ISA_AVX2 | HONE_ISA_AVX512 | HONE_ISA_AVX512_VNNI | HONE_ISA_AVX512_BF16 | HONE_ISA_AMX_BF16 |
         HONE_ISA_AMX_INT8,
     2, 176 * GIGA, 17 * GIGA, 48 * KI, 2048 * KI, 32768 * KI},
    {"avx512", HONE_ISA_C | HONE_ISA_AVX2 | HONE_ISA_AVX512, 2, 176 * GIGA, 17 * GIGA, 48 * KI, 2048 * KI, 32768 * KI},
    {"avx2", HONE_ISA_C | HONE_ISA_AVX2, 2, 88 * GIGA, 17 * GIGA, 32 * KI, 512 * KI, 16384 * KI},
    {"c", HONE_ISA_C, 2, 22 * GIGA, 17 * GIGA, 32 * KI, 512 * KI, 16384 * KI},
};

hone_status hn_cpu_describe(const char *name, int threads, hone_facts *facts, hone_diagnostics *diag) {
  for (size_t i = 0; i < HN_COUNT(machines); ++i) {
    const struct machine *m = &machines[i];
    if (strcmp(m->name, name) != 0) continue;
    *facts = (hone_facts){.isa = m->isa,
                          .threads = threads > 0 ? threads : m->threads,
                          .l1_bytes = m->l1_bytes,
                          .l2_bytes = m->l2_bytes,
                          .l3_bytes = m->l3_bytes,
                          .host_memory = true,
                          .described = true};
    facts->roofs[HONE_ROOF_F32] = m->flops * facts->threads;
    facts->roofs[HONE_ROOF_MEMORY] = m->bytes * facts->threads;
    hn_copy_text(facts->name, sizeof facts->name, m->name);
    hn_copy_text(facts->version, sizeof facts->version, HONE_VERSION_STRING);
    return HONE_OK;
  }
  char list[128] = "";
  for (size_t i = 0, at = 0; i < HN_COUNT(machines); ++i)
    at += (size_t)snprintf(list + at, sizeof list - at, " %s", machines[i].name);
  return HN_FAIL(diag, HONE_INVALID, "there is no described machine %s; there are:%s", name, list);
}
