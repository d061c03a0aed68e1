/* SPDX-License-Identifier: Apache-2.0 */
/* test_elementwise.c - elementwise rows: broadcasting, integers against reals, casts, and numbers worked out by hand.
 */
#include "row_case.h"

static void test_shapes(void **state) {
  (void)state;
  static const row_case rows[] = {
      {"equal shapes", "add", "", "f32[2,3] f32[2,3]", "f32[2,3]"},
      {"a scalar", "mul", "", "f32[2,3] f32[]", "f32[2,3]"},
      {"both ways", "add", "", "f32[4,1] f32[1,5]", "f32[4,5]"},
      {"a symbol takes a number", "add", "", "f32[N,3] f32[4,3]", "f32[4,3]"},
      {"a symbol against 1", "add", "", "f32[N,3] f32[1,3]", "f32[N,3]"},
      {"an unknown rank", "add", "", "f32[*] f32[2]", "f32[*]"},
      {"no broadcast", "add", "", "f32[2,3] f32[2,4]", "MALFORMED"},
      {"comparison is bool", "less", "", "i64[3] i64[3]", "bool[3]"},
      {"any number of inputs", "max", "", "f32[2,1] f32[3] f32[]", "f32[2,3]"},
      {"any number of sums", "sum", "", "f32[2,1] f32[3]", "f32[2,3]"},
      {"mean", "mean", "", "f32[2,1] f32[3]", "f32[2,3]"},
      {"slope of channels", "prelu", "", "f32[1,4,2,2] f32[4,1,1]", "f32[1,4,2,2]"},
      {"slope larger than x", "prelu", "", "f32[4] f32[2,4]", "MALFORMED"},
      {"a bound with two elements", "clip", "", "f32[4] f32[2]", "MALFORMED"},
      {"unknown direction", "bit_shift", "direction=UP", "u8[4] u8[4]", "MALFORMED"},
      {"unknown type", "cast", "to=99", "f32[4]", "UNSUPPORTED"},
      {"to string", "cast", "to=8", "f32[4]", "UNSUPPORTED"},
      {"like", "cast_like", "", "f32[4,N] f16[7]", "f16[4,N]"},
      {"another width", "bit_cast", "to=7", "f32[4]", "MALFORMED"},
      {"same width", "bit_cast", "to=6", "f32[4]", "i32[4]"},
      {"mask", "dropout", "", "f32[4,N]", "f32[4,N] bool[4,N]"},
  };
  check_cases(rows, HN_COUNT(rows));
}

static void test_values(void **state) {
  (void)state;
  static const row_case rows[] = {
      {"sums of extents", "add", "", "i64[2]=1,2 i64[1]=3", "i64[2]=4,5"},
      {"integers truncate", "div", "", "i64[4]=7,-7,7,-7 i64[4]=2,2,-2,-2", "i64[4]=3,-3,-3,3"},
      {"mod takes b's sign", "mod", "", "i32[4]=7,-7,7,-7 i32[4]=3,3,-3,-3", "i32[4]=1,2,-2,-1"},
      {"fmod takes a's sign", "mod", "fmod=1", "i32[4]=7,-7,7,-7 i32[4]=3,3,-3,-3", "i32[4]=1,-1,1,-1"},
      {"bytes wrap", "add", "", "u8[2]=250,1 u8[2]=10,1", "u8[2]=4,2"},
      {"half to even", "round", "", "f32[6]=0.5,1.5,2.5,-0.5,-1.5,2.4", "f32[6]=0,2,2,0,-2,2"},
      {"relu", "relu", "", "f32[3]=-1,0,2", "f32[3]=0,0,2"},
      {"leaky", "leaky_relu", "alpha=0.5", "f32[2]=-2,2", "f32[2]=-1,2"},
      {"elu", "elu", "alpha=2", "f32[2]=-1,3", "f32[2]=-1.264241118,3"},
      {"hard swish", "hard_swish", "", "f32[4]=-4,-1,1,4", "f32[4]=0,-0.333333333,0.666666667,4"},
      {"gelu", "gelu", "", "f64[3]=-1,0,1", "f64[3]=-0.158655254,0,0.841344746"},
      {"gelu by tanh", "gelu_tanh", "", "f64[3]=-1,0,1", "f64[3]=-0.158808009,0,0.841191991"},
      {"softplus far out", "softplus", "", "f64[3]=-1000,0,1000", "f64[3]=0,0.693147181,1000"},
      {"mish", "mish", "", "f64[2]=0,1", "f64[2]=0,0.865098388"},
      {"swish", "swish", "alpha=2", "f64[2]=0,1", "f64[2]=0,0.880797078"},
      {"clip above only", "clip", "", "f32[3]=-5,0,5 - f32[]=1", "f32[3]=-5,0,1"},
      {"clip to a NaN", "clip", "", "f32[2]=-5,nan f32[]=nan", "f32[2]=nan,nan"},
      {"clip of a NaN", "clip", "", "f32[2]=5,nan f32[]=0 f32[]=1", "f32[2]=1,nan"},
      {"clip crossed bounds", "clip", "", "i32[3]=-5,0,5 i32[]=3 i32[]=1", "i32[3]=1,1,1"},
      {"shifts", "bit_shift", "direction=RIGHT", "i8[3]=-8,-8,64 i8[3]=1,9,2", "i8[3]=-4,-1,16"},
      {"choice", "where", "", "bool[3]=1,0,1 f32[3]=1,2,3 f32[]=9", "f32[3]=1,9,3"},
      {"infinities", "isinf", "detect_negative=0", "f32[3]=inf,-inf,1", "bool[3]=1,0,0"},
      {"powers of integers", "pow", "", "i32[3]=2,3,-2 f32[3]=3,2,3", "i32[3]=8,9,-8"},
      {"smallest", "min", "", "i32[2]=4,5 i32[2]=3,9 i32[2]=8,1", "i32[2]=3,1"},
      {"cast truncates", "cast", "to=6", "f32[4]=1.9,-1.9,0.5,300", "i32[4]=1,-1,0,300"},
      {"cast of what no i32 is", "cast", "to=6", "f32[4]=3e9,nan,inf,-0.5",
       "i32[4]=-2147483648,-2147483648,-2147483648,0"},
      {"cast wraps", "cast", "to=2", "i32[2]=300,-1", "u8[2]=44,255"},
      {"cast to bool", "cast", "to=9", "f32[3]=0,0.1,nan", "bool[3]=0,1,1"},
      {"f8 saturates", "cast", "to=17", "f32[2]=1000,-1000", "f8e4m3fn[2]=448,-448"},
      {"f8 does not", "cast", "to=17 saturate=0", "f32[1]=1000", "f8e4m3fn[1]=nan"},
      {"power of two above", "cast", "to=24", "f32[3]=1,1.1,3", "f8e8m0[3]=1,2,4"},
      {"power of two below", "cast", "to=24 round_mode=down", "f32[3]=1,1.9,3", "f8e8m0[3]=1,1,2"},
      {"mask keeps all", "dropout", "", "f32[2]=3,4", "f32[2]=3,4 bool[2]=1,1"},
      {"training", "dropout", "", "f32[2]=3,4 f32[]=0.5 bool[]=1", "UNSUPPORTED"},
      {"the expression of a chain", "fused", "expr=mul(x0,add(x1,1))", "f32[2]=2,3 f32[2]=4,5", "f32[2]=10,18"},
  };
  check_cases(rows, HN_COUNT(rows));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
