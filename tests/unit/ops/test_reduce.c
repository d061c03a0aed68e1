/* SPDX-License-Identifier: Apache-2.0 */
/* test_reduce.c - reductions, arg_max and running sums: shapes with every form of axes, and numbers by hand. */
#include "row_case.h"

static void test_shapes(void **state) {
  (void)state;
  static const row_case rows[] = {
      {"all axes", "reduce_sum", "", "f32[2,N,4]", "f32[1,1,1]"},
      {"all axes gone", "reduce_sum", "keepdims=0", "f32[2,N,4]", "f32[]"},
      {"nothing to do", "reduce_sum", "noop_with_empty_axes=1", "f32[2,N,4]", "f32[2,N,4]"},
      {"one axis", "reduce_mean", "keepdims=0", "f32[2,N,4] i64[1]=-1", "f32[2,N]"},
      {"kept", "reduce_max", "", "f32[2,N,4] i64[2]=0,1", "f32[1,1,4]"},
      {"axis out of range", "reduce_max", "", "f32[2,4] i64[1]=2", "MALFORMED"},
      {"axis twice", "reduce_max", "", "f32[2,4] i64[2]=0,-2", "MALFORMED"},
      {"axes only when run", "reduce_max", "keepdims=0", "f32[2,4,5] i64[2]", "f32[?]"},
      {"unknown rank", "reduce_max", "", "f32[*] i64[1]=0", "f32[*]"},
      {"unknown rank to a scalar", "reduce_max", "keepdims=0", "f32[*]", "f32[]"},
      {"product of extents", "reduce_prod", "keepdims=0", "i64[3]=2,3,4", "i64[]=24"},
      {"place", "arg_max", "axis=1 keepdims=0", "f32[2,N,4]", "i64[2,4]"},
      {"nothing to choose", "arg_max", "axis=1", "f32[2,0]", "MALFORMED"},
      {"no such axis", "arg_min", "axis=3", "f32[2,4]", "MALFORMED"},
      {"running", "cum_sum", "", "f32[2,N] i64[]=1", "f32[2,N]"},
      {"running along nothing", "cum_sum", "", "f32[2,N] i64[]=2", "MALFORMED"},
  };
  check_cases(rows, HN_COUNT(rows));
}

static void test_values(void **state) {
  (void)state;
  static const row_case rows[] = {
      {"sum of rows", "reduce_sum", "keepdims=0", "f32[2,3]=1,2,3,4,5,6 i64[1]=1", "f32[2]=6,15"},
      {"sum of columns", "reduce_sum", "keepdims=0", "f32[2,3]=1,2,3,4,5,6 i64[1]=0", "f32[3]=5,7,9"},
      {"sum of the outer two", "reduce_sum", "keepdims=0", "i32[2,2,2]=1,2,3,4,5,6,7,8 i64[2]=0,1", "i32[2]=16,20"},
      {"mean", "reduce_mean", "", "f64[4]=1,2,3,6", "f64[1]=3"},
      {"mean of integers", "reduce_mean", "", "i32[2]=1,2", "i32[1]=1"},
      {"product", "reduce_prod", "", "i32[3]=2,-3,4", "i32[1]=-24"},
      {"largest of negatives", "reduce_max", "", "i8[3]=-5,-3,-9", "i8[1]=-3"},
      {"NaN wins", "reduce_min", "", "f32[3]=1,nan,0", "f32[1]=nan"},
      {"mean of nothing", "reduce_mean", "", "f32[2,0]= i64[1]=1", "f32[2,1]=nan,nan"},
      {"sum of nothing", "reduce_sum", "", "f32[2,0]= i64[1]=1", "f32[2,1]=0,0"},
      {"product of nothing", "reduce_prod", "", "f32[0]=", "f32[1]=1"},
      {"largest of nothing", "reduce_max", "", "f32[0]=", "f32[1]=-inf"},
      {"smallest of nothing", "reduce_min", "", "i8[0]=", "i8[1]=127"},
      {"mean of an empty plane", "global_average_pool", "", "f32[1,1,0,3]=", "f32[1,1,1,1]=nan"},
      {"all true", "reduce_min", "", "bool[3]=1,0,1", "bool[1]=0"},
      {"absolute", "reduce_l1", "", "f32[3]=1,-2,3", "f32[1]=6"},
      {"Euclidean", "reduce_l2", "", "f32[2]=3,-4", "f32[1]=5"},
      {"squares", "reduce_sum_square", "", "i32[3]=1,-2,3", "i32[1]=14"},
      {"logarithm", "reduce_log_sum", "", "f64[2]=1,1.718281828459045", "f64[1]=1"},
      {"exp does not overflow", "reduce_log_sum_exp", "", "f64[2]=1000,1000", "f64[1]=1000.693147181"},
      {"first of equals", "arg_max", "axis=0 keepdims=0", "i32[4]=1,7,7,2", "i64[]=1"},
      {"last of equals", "arg_max", "axis=0 keepdims=0 select_last_index=1", "i32[4]=1,7,7,2", "i64[]=2"},
      {"smallest", "arg_min", "axis=1", "f32[2,2]=4,3,1,2", "i64[2,1]=1,0"},
      {"running sum", "cum_sum", "", "f32[4]=1,2,3,4 i64[]=0", "f32[4]=1,3,6,10"},
      {"without itself", "cum_sum", "exclusive=1", "f32[4]=1,2,3,4 i64[]=0", "f32[4]=0,1,3,6"},
      {"from the end", "cum_sum", "reverse=1", "i32[4]=1,2,3,4 i64[]=0", "i32[4]=10,9,7,4"},
      {"both", "cum_prod", "reverse=1 exclusive=1", "i32[3]=1,2,3 i64[]=0", "i32[3]=6,3,1"},
  };
  check_cases(rows, HN_COUNT(rows));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
