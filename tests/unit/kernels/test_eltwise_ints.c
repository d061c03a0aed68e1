/* SPDX-License-Identifier: Apache-2.0 */
/* test_eltwise_ints.c - one instruction on integers of every type, however its operands lie, against plain arithmetic
 * on 128 bits: by the kernel that computes in the type itself, and by the one that widens to lanes. */
#include "kernels/cpu/eltwise/eltwise_ints.h"

#include "kernel_test.h"

static hn_ints_fn *const typed[] = VARIANTS_OF(hn_eltwise_ints_typed);
static hn_ints_fn *const any[] = VARIANTS_OF(hn_eltwise_ints);

enum { ROWS = 5, COLUMNS = 1100 };

static const struct {
  int bytes, has_sign;
} types[] = {[HN_INTS_I8] = {1, 1},  [HN_INTS_U8] = {1, 0},  [HN_INTS_I16] = {2, 1},
             [HN_INTS_U16] = {2, 0}, [HN_INTS_I32] = {4, 1}, [HN_INTS_U32] = {4, 0},
             [HN_INTS_I64] = {8, 1}, [HN_INTS_U64] = {8, 0}, [HN_INTS_BOOL] = {1, 0}};

/* How an operand lies: its strides over a row and over a column; the last one is a constant. */
static const int64_t lies[][2] = {{COLUMNS, 1}, {0, 0}, {0, 1}, {1, 0}, {1, ROWS}, {0, 0}};
enum { CONSTANT = COUNT(lies) - 1 };

static __int128 number_at(const void *data, hn_ints_type type, int64_t i) {
  uint64_t u = 0;
  memcpy(&u, (const char *)data + i * types[type].bytes, (size_t)types[type].bytes);
  const int shift = 64 - 8 * types[type].bytes;
  return types[type].has_sign ? (__int128)((int64_t)(u << shift) >> shift) : (__int128)u;
}

static __int128 apply(hn_ints_op op, __int128 a, __int128 b, __int128 c) {
  switch (op) {
  case HN_INTS_ADD: return a + b;
  case HN_INTS_SUB: return a - b;
  case HN_INTS_MUL: return (__int128)((unsigned __int128)a * (unsigned __int128)b);
  case HN_INTS_DIV: return b ? a / b : 0;
  case HN_INTS_FMOD: return b ? a % b : 0;
  case HN_INTS_MOD: return b ? (a % b + b) % b : 0;
  case HN_INTS_MIN: return a < b ? a : b;
  case HN_INTS_MAX: return a < b ? b : a;
  case HN_INTS_LT: return a < b;
  case HN_INTS_LE: return a <= b;
  case HN_INTS_GT: return a > b;
  case HN_INTS_GE: return a >= b;
  case HN_INTS_EQ: return a == b;
  case HN_INTS_NE: return a != b;
  case HN_INTS_AND: return a && b;
  case HN_INTS_OR: return a || b;
  case HN_INTS_XOR: return !a != !b;
  case HN_INTS_NOT: return !a;
  default: return a ? b : c;
  }
}

static int arity(hn_ints_op op) { return op == HN_INTS_SELECT ? 3 : op == HN_INTS_NOT ? 1 : 2; }

static int is_logic(hn_ints_op op) { return op >= HN_INTS_AND && op <= HN_INTS_NOT; }

/* Numbers that meet often, with the least and the greatest among them. */
static void draw(guarded *g, hn_ints_type type, uint64_t *seed) {
  const int bytes = types[type].bytes, narrow = random_next(seed) % 2 == 0; /* less than 50 bits, for divisions */
  for (int64_t i = 0; i < (int64_t)g->bytes / bytes; ++i) {
    const uint64_t u = random_next(seed), kind = random_next(seed) % 4;
    uint64_t number = type == HN_INTS_BOOL ? u % 2
                      : kind == 0          ? u % 3 - 1
                      : kind == 1          ? (uint64_t)1 << (8 * bytes - 1)
                      : kind == 2          ? ((uint64_t)1 << (8 * bytes - 1)) - 1
                                           : u;
    if (narrow && bytes == 8) number = types[type].has_sign ? (uint64_t)((int64_t)number >> 15) : number >> 15;
    memcpy(g->data + i * bytes, &number, (size_t)bytes);
  }
}

/* One instruction, its operands lying as `way` says. */
static void check(int variant, hn_ints_op op, hn_ints_type type, const int way[3], uint64_t *seed) {
  const int count = arity(op);
  const hn_ints_type to = op >= HN_INTS_LT && op <= HN_INTS_NOT ? HN_INTS_BOOL : type;
  hn_ints_program p = {.count = count + 1, .rank = 2, .dim = {ROWS, COLUMNS}, .from = type, .to = to};
  guarded x[3] = {0}, y = guarded_new((size_t)ROWS * COLUMNS * (size_t)types[to].bytes);
  const void *data[3] = {0};
  hn_ints_type from[3];
  for (int k = 0; k < count; ++k) {
    const int64_t *stride = lies[way[k]];
    from[k] = op == HN_INTS_SELECT && k == 0 ? HN_INTS_BOOL : type;
    x[k] = guarded_new((size_t)((ROWS - 1) * stride[0] + (COLUMNS - 1) * stride[1] + 1) * (size_t)types[from[k]].bytes);
    draw(&x[k], from[k], seed);
    data[k] = x[k].data;
    p.step[k] = (hn_ints_step){.op = HN_INTS_INPUT, .a = k, .type = from[k], .stride = {stride[0], stride[1]}};
    if (way[k] == CONSTANT)
      p.step[k] = (hn_ints_step){.op = HN_INTS_CONST, .constant = (int64_t)number_at(data[k], from[k], 0)};
  }
  p.step[count] = (hn_ints_step){.op = op, .a = 0, .b = count > 1, .c = count > 2 ? 2 : 0};
  const hn_ints_args args = {.program = &p, .x = data, .y = y.data};
  const int wide_unsigned = type == HN_INTS_U64 && op >= HN_INTS_DIV && op <= HN_INTS_GE; /* lanes have a sign */
  for (int form = 0; form < (wide_unsigned ? 1 : 2); ++form) {
    hn_ints_fn *kernel = form ? any[variant] : typed[variant];
    memset(y.data, 0xee, y.bytes);
    IN_PIECES(seed, 100, kernel(&args, begin, end))
    kernel(&args, 100, ROWS * COLUMNS);
    for (int64_t i = 0; i < ROWS * COLUMNS; ++i) {
      __int128 v[3] = {0};
      for (int k = 0; k < count; ++k)
        v[k] = number_at(data[k], from[k], i / COLUMNS * lies[way[k]][0] + i % COLUMNS * lies[way[k]][1]);
      const uint64_t wanted = (uint64_t)apply(op, v[0], v[1], v[2]);
      if (memcmp(y.data + i * types[to].bytes, &wanted, (size_t)types[to].bytes) != 0)
        fail_msg("%s, form %d, op %d, type %d, operands %d %d %d: element %d is wrong", variant_name[variant], form,
                 (int)op, (int)type, way[0], way[1], way[2], (int)i);
    }
  }
  for (int k = 0; k < count; ++k) guarded_free(&x[k]);
  guarded_free(&y);
}

static void test_every_type(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (int variant = 0; variant < VARIANTS; ++variant) {
    if (!variant_runs(variant)) continue;
    for (hn_ints_type type = HN_INTS_I8; type <= HN_INTS_BOOL; ++type)
      for (hn_ints_op op = HN_INTS_ADD; op <= HN_INTS_SELECT; ++op) {
        if (is_logic(op) != (type == HN_INTS_BOOL) &&
            !(type == HN_INTS_BOOL && (op == HN_INTS_EQ || op == HN_INTS_SELECT)))
          continue;
        for (int round = 0; round < 3; ++round) {
          int way[3];
          for (int k = 0; k < 3; ++k) way[k] = round == 0 ? 0 : (int)(random_next(&seed) % (uint64_t)COUNT(lies));
          if (op == HN_INTS_SELECT && way[0] == CONSTANT) way[0] = 1;
          check(variant, op, type, way, &seed);
        }
      }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_type)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
