/* SPDX-License-Identifier: Apache-2.0 */
/* roofs.c - roofs of an x86-64 machine by loops that share nothing with hone's: written in assembly, threads of their
 * own, each pinned and each with memory of its own. What `hone peaks` says is held against them (bench/roofs.py).
 *
 *   roofs THREADS [PASSES]      one line a roof: name, best and median pass (operations or bytes a second)
 *
 * Left out are units that this file has no loop for: AMX, and f16 without AVX512-FP16. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 256, MOST_PASSES = 501, USUAL_PASSES = 101 };
#define PASS_NS 1e6 /* short enough to have some between the turns of whoever else there is */

/* ---- computing: twenty sums a round, more than any core's latency times its ports ---- */

#define FOUR(op, a, b, r, w, x, y, z)                                                                                  \
  op " " a "," b ",%%" r w "\n" op " " a "," b ",%%" r x "\n" op " " a "," b ",%%" r y "\n" op " " a "," b ",%%" r z   \
     "\n"
#define TWENTY_WIDE(op)                                                                                                \
  FOUR(op, "%%zmm30", "%%zmm31", "zmm", "0", "1", "2", "3")                                                            \
  FOUR(op, "%%zmm30", "%%zmm31", "zmm", "4", "5", "6", "7")                                                            \
  FOUR(op, "%%zmm30", "%%zmm31", "zmm", "8", "9", "10", "11")                                                          \
  FOUR(op, "%%zmm30", "%%zmm31", "zmm", "12", "13", "14", "15")                                                        \
  FOUR(op, "%%zmm30", "%%zmm31", "zmm", "16", "17", "18", "19")
#define TWELVE(op)                                                                                                     \
  FOUR(op, "%%ymm14", "%%ymm15", "ymm", "0", "1", "2", "3")                                                            \
  FOUR(op, "%%ymm14", "%%ymm15", "ymm", "4", "5", "6", "7")                                                            \
  FOUR(op, "%%ymm14", "%%ymm15", "ymm", "8", "9", "10", "11")
/* The compiler, which is not told of AVX-512, has no use for the other sixteen. */
#define REGISTERS                                                                                                      \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",  \
      "xmm14", "xmm15"

/* Both factors of every multiply-add are `word` repeated; sums begin with 0. */
#define WIDE_LOOP(op)                                                                                                  \
  __asm__ volatile("vzeroall\n vpxord %%zmm16, %%zmm16, %%zmm16\n vpxord %%zmm17, %%zmm17, %%zmm17\n"                  \
                   "vpxord %%zmm18, %%zmm18, %%zmm18\n vpxord %%zmm19, %%zmm19, %%zmm19\n"                             \
                   "vpbroadcastd %1, %%zmm30\n vpbroadcastd %1, %%zmm31\n"                                             \
                   "1:\n" TWENTY_WIDE(op) TWENTY_WIDE(op) "dec %0\n jnz 1b\n vzeroupper"                               \
                   : "+r"(rounds)                                                                                      \
                   : "r"(word)                                                                                         \
                   : REGISTERS, "cc")
#define LOOP(op)                                                                                                       \
  __asm__ volatile("vzeroall\n vmovd %1, %%xmm14\n vpbroadcastd %%xmm14, %%ymm14\n vmovdqa %%ymm14, %%ymm15\n"         \
                   "1:\n" TWELVE(op) TWELVE(op) "dec %0\n jnz 1b\n vzeroupper"                                         \
                   : "+r"(rounds)                                                                                      \
                   : "r"(word)                                                                                         \
                   : REGISTERS, "cc")

static void f64_512(int64_t rounds, uint32_t word) { WIDE_LOOP("vfmadd231pd"); }
static void f32_512(int64_t rounds, uint32_t word) { WIDE_LOOP("vfmadd231ps"); }
static void bf16_512(int64_t rounds, uint32_t word) { WIDE_LOOP("vdpbf16ps"); }
static void f16_512(int64_t rounds, uint32_t word) { WIDE_LOOP("vfmadd231ph"); }
static void int8_512(int64_t rounds, uint32_t word) { WIDE_LOOP("vpdpbusd"); }
static void f64_256(int64_t rounds, uint32_t word) { LOOP("vfmadd231pd"); }
static void f32_256(int64_t rounds, uint32_t word) { LOOP("vfmadd231ps"); }

enum { WIDE_SUMS = 40, SUMS = 24 }; /* of a round */

typedef struct unit {
  const char *roof, *feature; /* the feature as the kernel's cpuinfo spells it */
  void (*loop)(int64_t rounds, uint32_t word);
  uint32_t word; /* of the factors: ordinary numbers */
  double ops_of_a_round;
} unit;

/* The first of a roof that the machine has counts. */
static const unit units[] = {
    {"f64", "avx512f", f64_512, 0x3F000000, 2.0 * 8 * WIDE_SUMS},
    {"f64", "fma", f64_256, 0x3F000000, 2.0 * 4 * SUMS},
    {"f32", "avx512f", f32_512, 0x3F000000, 2.0 * 16 * WIDE_SUMS},
    {"f32", "fma", f32_256, 0x3F000000, 2.0 * 8 * SUMS},
    {"f16", "avx512_fp16", f16_512, 0x2C002C00, 2.0 * 32 * WIDE_SUMS},
    {"bf16", "avx512_bf16", bf16_512, 0x3F003F00, 2.0 * 32 * WIDE_SUMS},
    {"int8", "avx512_vnni", int8_512, 0x01010101, 2.0 * 64 * WIDE_SUMS},
};

/* ---- reading: sixteen lines to registers, nothing is done with them ---- */

static void read_512(const char *at, size_t bytes, int64_t times) {
  for (; times > 0; --times) {
    const char *p = at;
    const char *const end = at + bytes;
    __asm__ volatile("1:\n vmovups (%0), %%zmm0\n vmovups 64(%0), %%zmm1\n vmovups 128(%0), %%zmm2\n"
                     "vmovups 192(%0), %%zmm3\n vmovups 256(%0), %%zmm4\n vmovups 320(%0), %%zmm5\n"
                     "vmovups 384(%0), %%zmm6\n vmovups 448(%0), %%zmm7\n vmovups 512(%0), %%zmm8\n"
                     "vmovups 576(%0), %%zmm9\n vmovups 640(%0), %%zmm10\n vmovups 704(%0), %%zmm11\n"
                     "vmovups 768(%0), %%zmm12\n vmovups 832(%0), %%zmm13\n vmovups 896(%0), %%zmm14\n"
                     "vmovups 960(%0), %%zmm15\n add $1024, %0\n cmp %1, %0\n jb 1b\n vzeroupper"
                     : "+r"(p)
                     : "r"(end)
                     : REGISTERS, "cc", "memory");
  }
}

static void read_256(const char *at, size_t bytes, int64_t times) {
  for (; times > 0; --times) {
    const char *p = at;
    const char *const end = at + bytes;
    __asm__ volatile(
        "1:\n vmovups (%0), %%ymm0\n vmovups 32(%0), %%ymm1\n vmovups 64(%0), %%ymm2\n"
        "vmovups 96(%0), %%ymm3\n vmovups 128(%0), %%ymm4\n vmovups 160(%0), %%ymm5\n"
        "vmovups 192(%0), %%ymm6\n vmovups 224(%0), %%ymm7\n add $256, %0\n cmp %1, %0\n jb 1b\n vzeroupper"
        : "+r"(p)
        : "r"(end)
        : REGISTERS, "cc", "memory");
  }
}

/* ---- threads ---- */

typedef struct team {
  int threads;
  pthread_barrier_t begin, end;
  const unit *computes; /* NULL: reads */
  void (*read)(const char *at, size_t bytes, int64_t times);
  size_t bytes; /* that each reads */
  char *memory[MOST_THREADS];
  int64_t rounds; /* or times; 0: leave */
  int drops;      /* drop the memory from all caches, and read nothing */
} team;

typedef struct member {
  team *team;
  int number;
} member;

/* Third caches keep part of what is read again, also of some times their size. */
static void drop(const char *at, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) __asm__ volatile("clflush (%0)" : : "r"(at + i) : "memory");
  __asm__ volatile("mfence" : : : "memory");
}

static void work(const member *m) {
  const team *t = m->team;
  if (t->drops)
    drop(t->memory[m->number], t->bytes);
  else if (t->computes)
    t->computes->loop(t->rounds, t->computes->word);
  else
    t->read(t->memory[m->number], t->bytes, t->rounds);
}

static void *serve(void *arg) {
  const member *m = arg;
  for (;;) {
    pthread_barrier_wait(&m->team->begin);
    if (m->team->rounds == 0) return NULL;
    work(m);
    pthread_barrier_wait(&m->team->end);
  }
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* All threads together do so many rounds each; thread 0 is the caller. */
static double pass_ns(team *t, const member *self, int64_t rounds) {
  t->rounds = rounds;
  pthread_barrier_wait(&t->begin);
  const double begin_ns = now_ns();
  work(self);
  pthread_barrier_wait(&t->end);
  return now_ns() - begin_ns;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* from_memory: each pass is one round that finds the caches without what it reads. */
static void measure(team *t, const member *self, const char *roof, double amount_of_a_round, int passes,
                    int from_memory) {
  double ns[MOST_PASSES];
  int64_t rounds = 1;
  double once_ns = pass_ns(t, self, rounds);
  for (; once_ns < PASS_NS && !from_memory; once_ns = pass_ns(t, self, rounds)) rounds *= 2;
  for (int i = 0; i < passes; ++i) {
    t->drops = from_memory;
    if (from_memory) (void)pass_ns(t, self, 1);
    t->drops = 0;
    ns[i] = pass_ns(t, self, rounds);
  }
  qsort(ns, (size_t)passes, sizeof *ns, by_value);
  const double amount = amount_of_a_round * (double)rounds * t->threads * 1e9;
  printf("%s %.6g %.6g\n", roof, amount / ns[0], amount / ns[passes / 2]);
  fflush(stdout);
}

/* ---- the machine ---- */

static char flags[8192];

static void read_flags(void) {
  FILE *f = fopen("/proc/cpuinfo", "r");
  while (f && fgets(flags, sizeof flags, f) && strncmp(flags, "flags", 5) != 0) {
  }
  if (f) fclose(f);
  flags[strcspn(flags, "\n")] = ' ';
}

static int has(const char *feature) {
  char word[64];
  (void)snprintf(word, sizeof word, " %s ", feature);
  return strstr(flags, word) != NULL;
}

static size_t cache_bytes(int name) {
  const long bytes = sysconf(name);
  return bytes > 0 ? (size_t)bytes : 0;
}

/* The cpu that thread `number` is to stay on, of those that the process may use. */
static void pin(pthread_t thread, int number) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  CPU_ZERO(&one);
  int left = number % CPU_COUNT(&all);
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && left-- == 0) CPU_SET(cpu, &one);
  (void)pthread_setaffinity_np(thread, sizeof one, &one);
}

static size_t whole(size_t bytes) { return bytes / 1024 * 1024; }

static void measure_all(team *t, const member *self, int passes, size_t room) {
  const char *done = "";
  for (size_t i = 0; i < sizeof units / sizeof *units; ++i) {
    if (!has(units[i].feature) || strcmp(done, units[i].roof) == 0) continue;
    done = units[i].roof;
    t->computes = &units[i];
    measure(t, self, units[i].roof, units[i].ops_of_a_round, passes, 0);
  }
  t->computes = NULL;
  /* Three quarters of a cache that is a core's own; of a shared one a part that the second cache holds a fraction of.
   */
  const size_t second = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  const size_t third = cache_bytes(_SC_LEVEL3_CACHE_SIZE) / 3 / (size_t)t->threads;
  const struct {
    const char *roof;
    size_t bytes;
    int from_memory;
  } levels[] = {{"L1", cache_bytes(_SC_LEVEL1_DCACHE_SIZE) * 3 / 4, 0},
                {"L2", second * 5 / 8, 0},
                {"L3", third < 6 * second ? third : 6 * second, 0},
                {"memory", room, 1}};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; ++i) {
    t->bytes = whole(levels[i].bytes);
    if (t->bytes > 0) measure(t, self, levels[i].roof, (double)t->bytes, passes, levels[i].from_memory);
  }
}

int main(int count, char **words) {
  static team t;
  static member members[MOST_THREADS];
  static pthread_t threads[MOST_THREADS];
  const int wanted = count > 1 ? atoi(words[1]) : 1, passes = count > 2 ? atoi(words[2]) : USUAL_PASSES;
  if (wanted < 1 || wanted > MOST_THREADS || passes < 1 || passes > MOST_PASSES) {
    fprintf(stderr, "usage: roofs THREADS [PASSES]; 1 to %d threads, 1 to %d passes\n", MOST_THREADS, MOST_PASSES);
    return 2;
  }
  read_flags();
  if (!has("fma")) {
    fprintf(stderr, "roofs: this machine has no FMA, and there is no loop for it here\n");
    return 4;
  }
  t.threads = wanted;
  t.read = has("avx512f") ? read_512 : read_256;
  const size_t room = (size_t)192 << 20;
  pthread_barrier_init(&t.begin, NULL, (unsigned)wanted);
  pthread_barrier_init(&t.end, NULL, (unsigned)wanted);
  for (int i = 0; i < wanted; ++i) {
    t.memory[i] = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t.memory[i] == MAP_FAILED) {
      fprintf(stderr, "roofs: no memory\n");
      return 6;
    }
    (void)madvise(t.memory[i], room, MADV_HUGEPAGE); /* as weights and arenas of hone are: translations cost a third */
    memset(t.memory[i], 1, room);
    members[i] = (member){&t, i};
    if (i > 0 && pthread_create(&threads[i], NULL, serve, &members[i]) != 0) {
      fprintf(stderr, "roofs: no thread\n");
      return 6;
    }
    pin(i > 0 ? threads[i] : pthread_self(), i);
  }
  measure_all(&t, &members[0], passes, room);
  t.rounds = 0;
  pthread_barrier_wait(&t.begin);
  for (int i = 1; i < wanted; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < wanted; ++i) munmap(t.memory[i], room);
  return 0;
}
