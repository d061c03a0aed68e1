/* SPDX-License-Identifier: Apache-2.0 */
/* test_movement.c - shapes, slices, gathers and the rest that moves elements: what infer says and refuses, with symbols
 * and without values, and small results by hand. */
#include "row_case.h"

static void test_shapes(void **state) {
  (void)state;
  static const row_case rows[] = {
      {"shape", "shape", "", "f32[N,3,4]", "i64[3]=N,3,4"},
      {"part of a shape", "shape", "start=-2 end=9", "f32[N,3,4]", "i64[2]=3,4"},
      {"size", "size", "", "f32[2,3,N]", "i64[]=6*N"},
      {"reshape keeps and infers", "reshape", "", "f32[N,4,6] i64[3]=0,-1,8", "f32[N,3,8]"},
      {"reshape two unknowns", "reshape", "", "f32[2,4] i64[2]=-1,-1", "MALFORMED"},
      {"reshape below -1", "reshape", "", "f32[2,4] i64[2]=-2,4", "MALFORMED"},
      {"reshape another count", "reshape", "", "f32[2,4] i64[2]=3,3", "MALFORMED"},
      {"reshape does not divide", "reshape", "", "f32[2,4] i64[2]=-1,3", "MALFORMED"},
      {"reshape keeps beyond the rank", "reshape", "", "f32[8] i64[2]=8,0", "MALFORMED"},
      {"reshape to nothing", "reshape", "allowzero=1", "f32[0,4] i64[2]=4,0", "f32[4,0]"},
      {"reshape when run", "reshape", "", "f32[2,4] i64[2]", "f32[?,?]"},
      {"flatten", "flatten", "axis=2", "f32[N,3,4,5]", "f32[3*N,20]"},
      {"flatten everything", "flatten", "axis=0", "f32[2,3]", "f32[1,6]"},
      {"flatten beyond", "flatten", "axis=3", "f32[2,3]", "MALFORMED"},
      {"squeeze", "squeeze", "", "f32[1,N,1] i64[1]=-1", "f32[1,N]"},
      {"squeeze all", "squeeze", "", "f32[1,3,1]", "f32[3]"},
      {"squeeze what is not 1", "squeeze", "", "f32[1,3] i64[1]=1", "MALFORMED"},
      {"squeeze all of a symbol", "squeeze", "", "f32[1,N]", "f32[*]"},
      {"unsqueeze", "unsqueeze", "", "f32[N] i64[2]=0,-1", "f32[1,N,1]"},
      {"unsqueeze twice", "unsqueeze", "", "f32[N] i64[2]=0,0", "MALFORMED"},
      {"transpose", "transpose", "perm=2,0,1", "f32[N,3,4]", "f32[4,N,3]"},
      {"transpose reversed", "transpose", "", "f32[N,3,4]", "f32[4,3,N]"},
      {"transpose repeats", "transpose", "perm=0,0", "f32[2,3]", "MALFORMED"},
      {"transpose another rank", "transpose", "perm=0,1", "f32[2,3,4]", "MALFORMED"},
      {"concat", "concat", "axis=1", "f32[N,3] f32[N,M]", "f32[N,M+3]"},
      {"concat does not fit", "concat", "axis=1", "f32[2,3] f32[3,3]", "MALFORMED"},
      {"concat ranks", "concat", "axis=0", "f32[2,3] f32[3]", "MALFORMED"},
      {"split given", "split", "axis=-1", "f32[N,5] i64[2]=2,3", "f32[N,2] f32[N,3]"},
      {"split uneven", "split", "num_outputs=2", "f32[5]", "f32[3] f32[2]"},
      {"shuffled", "channel_gather", "channels=0,2,1,4 split=1,3", "f32[N,3,H] f32[N,2,H]", "f32[N,1,H] f32[N,3,H]"},
      {"shuffled beyond", "channel_gather", "channels=0,5 split=2", "f32[N,3] f32[N,2]", "MALFORMED"},
      {"shuffled and cut wrongly", "channel_gather", "channels=0,1 split=3", "f32[N,3]", "MALFORMED"},
      {"shuffled of other planes", "channel_gather", "channels=0,1 split=2", "f32[1,3,4] f32[1,3,5]", "MALFORMED"},
      {"shuffled without channels", "channel_gather", "channels=0 split=1", "f32[1,N]", "UNSUPPORTED"},
      {"split must divide", "split", "", "f32[5]", "f32[5]"},
      {"split adds up", "split", "", "f32[5] i64[2]=2,4", "MALFORMED"},
      {"slice", "slice", "", "f32[10,N] i64[2]=1,0 i64[2]=-1,9223372036854775000 i64[2]=0,1 i64[2]=2,1", "f32[4,N]"},
      {"slice half a symbol", "slice", "", "f32[N] i64[1]=0 i64[1]=2147483647 i64[1]=0 i64[1]=2",
       "f32[floor((N+1)/2)]"},
      {"slice no step", "slice", "", "f32[4] i64[1]=0 i64[1]=1 i64[1]=0 i64[1]=0", "MALFORMED"},
      {"slice of what is not there", "slice", "", "f32[4] i64[1]=0 i64[1]=1 i64[1]=1", "MALFORMED"},
      {"slice lengths", "slice", "", "f32[4] i64[1]=0 i64[2]=1,1", "MALFORMED"},
  };
  check_cases(rows, HN_COUNT(rows));
}

static void test_shapes_by_indices(void **state) {
  (void)state;
  static const row_case rows[] = {
      {"gather", "gather", "axis=1", "f32[2,5,N] i64[3,4]", "f32[2,3,4,N]"},
      {"gather beyond", "gather", "", "f32[2] i64[1]=2", "MALFORMED"},
      {"gather_nd", "gather_nd", "batch_dims=1", "f32[2,3,4] i64[2,1]", "f32[2,4]"},
      {"gather_nd too deep", "gather_nd", "", "f32[2,3] i64[2,3]", "MALFORMED"},
      {"scatter_nd updates", "scatter_nd", "", "f32[4,5] i64[2,1] f32[2,4]", "MALFORMED"},
      {"scatter unknown", "scatter_elements", "reduction=avg", "f32[4] i64[2] f32[2]", "MALFORMED"},
      {"expand", "expand", "", "f32[3,1] i64[3]=2,1,6", "f32[2,3,6]"},
      {"expand does not", "expand", "", "f32[3] i64[1]=4", "MALFORMED"},
      {"tile", "tile", "", "f32[2,N] i64[2]=1,3", "f32[2,3*N]"},
      {"tile rank", "tile", "", "f32[2,N] i64[1]=1", "MALFORMED"},
      {"pad", "pad", "", "f32[N,4] i64[4]=0,1,0,2", "f32[N,7]"},
      {"pad named axes", "pad", "", "f32[N,4] i64[2]=1,2 - i64[1]=-1", "f32[N,7]"},
      {"pad count", "pad", "", "f32[N,4] i64[3]=0,1,0", "MALFORMED"},
      {"pad mode", "pad", "mode=mirror", "f32[N,4] i64[4]=0,1,0,1", "MALFORMED"},
      {"pad below nothing", "pad", "", "f32[4] i64[2]=-3,-2", "MALFORMED"},
      {"range by 0", "range", "", "i64[]=0 i64[]=3 i64[]=0", "MALFORMED"},
      {"range when run", "range", "", "f32[] f32[] f32[]", "f32[?]"},
      {"filled", "constant_of_shape", "", "i64[2]=2,3", "f32[2,3]=0,0,0,0,0,0"},
      {"filled below 0", "constant_of_shape", "", "i64[1]=-1", "MALFORMED"},
      {"one hot", "one_hot", "axis=1", "i64[N,4] i64[]=7 f32[2]", "f32[N,7,4]"},
      {"blocks", "depth_to_space", "blocksize=2", "f32[N,8,3,H]", "f32[N,2,6,2*H]"},
      {"blocks do not divide", "depth_to_space", "blocksize=2", "f32[1,6,3,3]", "MALFORMED"},
      {"no block", "space_to_depth", "blocksize=0", "f32[1,6,3,3]", "MALFORMED"},
      {"top k too many", "top_k", "", "f32[3] i64[1]=4", "MALFORMED"},
      {"top k when run", "top_k", "", "f32[N,3] i64[1]", "f32[N,?] i64[N,?]"},
      {"matrix only", "trilu", "", "f32[3]", "MALFORMED"},
      {"cache", "tensor_scatter", "axis=0", "f32[2,3,4] f32[2,1,4]", "MALFORMED"},
  };
  check_cases(rows, HN_COUNT(rows));
}

static void test_values(void **state) {
  (void)state;
  static const row_case rows[] = {
      {"transpose", "transpose", "", "i32[2,3]=1,2,3,4,5,6", "i32[3,2]=1,4,2,5,3,6"},
      {"concat columns", "concat", "axis=1", "i32[2,1]=1,2 i32[2,2]=3,4,5,6", "i32[2,3]=1,3,4,2,5,6"},
      {"split columns", "split", "axis=1", "i32[2,3]=1,2,3,4,5,6 i64[2]=1,2", "i32[2,1]=1,4 i32[2,2]=2,3,5,6"},
      {"slice backwards", "slice", "", "i32[4]=1,2,3,4 i64[1]=-1 i64[1]=-9 i64[1]=0 i64[1]=-2", "i32[2]=4,2"},
      {"gather from the end", "gather", "", "i32[3]=5,6,7 i64[2]=-1,0", "i32[2]=7,5"},
      {"gather columns", "gather", "axis=1", "i32[2,2]=1,2,3,4 i64[1]=1", "i32[2,1]=2,4"},
      {"elements", "gather_elements", "axis=1", "i32[2,2]=1,2,3,4 i64[2,1]=1,0", "i32[2,1]=2,3"},
      {"elements beyond", "gather_elements", "axis=1", "i32[2,2]=1,2,3,4 i64[2,1]=2,0", "INVALID"},
      {"coordinates", "gather_nd", "", "i32[2,2]=1,2,3,4 i64[2,2]=0,0,1,1", "i32[2]=1,4"},
      {"scatter adds", "scatter_elements", "reduction=add", "i32[3]=1,1,1 i64[2]=1,1 i32[2]=5,6", "i32[3]=1,12,1"},
      {"scatter rows", "scatter_nd", "", "i32[2,2]=1,2,3,4 i64[1,1]=1 i32[1,2]=8,9", "i32[2,2]=1,2,8,9"},
      {"expand", "expand", "", "i32[2,1]=1,2 i64[2]=1,2", "i32[2,2]=1,1,2,2"},
      {"tile", "tile", "", "i32[1,2]=1,2 i64[2]=2,2", "i32[2,4]=1,2,1,2,1,2,1,2"},
      {"pad with 9", "pad", "", "i32[2]=1,2 i64[2]=1,2 i32[]=9", "i32[5]=9,1,2,9,9"},
      {"pad edge", "pad", "mode=edge", "i32[2]=1,2 i64[2]=1,2", "i32[5]=1,1,2,2,2"},
      {"pad reflect past the far end", "pad", "mode=reflect", "i32[3]=1,2,3 i64[2]=4,1", "i32[8]=1,2,3,2,1,2,3,2"},
      {"pad wrap", "pad", "mode=wrap", "i32[3]=1,2,3 i64[2]=1,2", "i32[6]=3,1,2,3,1,2"},
      {"pad cuts", "pad", "", "i32[4]=1,2,3,4 i64[2]=-1,-2", "i32[1]=2"},
      {"range down", "range", "", "i32[]=5 i32[]=0 i32[]=-2", "i32[3]=5,3,1"},
      {"range of reals", "range", "", "f32[]=0 f32[]=1 f32[]=0.25", "f32[4]=0,0.25,0.5,0.75"},
      {"identity matrix", "eye_like", "k=1", "f32[2,3]=0,0,0,0,0,0", "f32[2,3]=0,1,0,0,0,1"},
      {"one hot", "one_hot", "", "i64[3]=0,-1,7 i64[]=3 i32[2]=2,5", "i32[3,3]=5,2,2,2,2,5,2,2,2"},
      {"lower", "trilu", "upper=0", "i32[2,2]=1,2,3,4", "i32[2,2]=1,0,3,4"},
      {"depth DCR", "depth_to_space", "blocksize=2", "i32[1,8,1,1]=0,1,2,3,4,5,6,7", "i32[1,2,2,2]=0,2,4,6,1,3,5,7"},
      {"depth CRD", "depth_to_space", "blocksize=2 mode=CRD", "i32[1,8,1,1]=0,1,2,3,4,5,6,7",
       "i32[1,2,2,2]=0,1,2,3,4,5,6,7"},
      {"space", "space_to_depth", "blocksize=2", "i32[1,1,2,2]=1,2,3,4", "i32[1,4,1,1]=1,2,3,4"},
      {"backwards", "reverse_sequence", "", "i32[3,2]=1,2,3,4,5,6 i64[2]=3,1", "i32[3,2]=5,2,3,4,1,6"},
      {"backwards too far", "reverse_sequence", "", "i32[3,2]=1,2,3,4,5,6 i64[2]=4,1", "INVALID"},
      {"not zero", "non_zero", "", "i32[2,2]=0,1,2,0", "i64[2,2]=0,1,1,0"},
      {"compress rows", "compress", "axis=0", "i32[3,1]=1,2,3 bool[2]=0,1", "i32[1,1]=2"},
      {"compress all", "compress", "", "i32[2,2]=1,2,3,4 bool[4]=1,0,0,1", "i32[2]=1,4"},
      {"best two", "top_k", "", "f32[4]=1,3,3,2 i64[1]=3", "f32[3]=3,3,2 i64[3]=1,2,3"},
      {"worst", "top_k", "largest=0 axis=0", "i8[2,2]=1,-4,0,7 i64[1]=1", "i8[1,2]=0,-4 i64[1,2]=1,0"},
      {"distinct", "unique", "", "i32[5]=2,1,1,3,2", "i32[3]=1,2,3 i64[3]=1,0,3 i64[5]=1,0,0,2,1 i64[3]=2,2,1"},
      {"distinct as met", "unique", "sorted=0", "i32[5]=2,1,1,3,2",
       "i32[3]=2,1,3 i64[3]=0,1,3 i64[5]=0,1,1,2,0 i64[3]=2,2,1"},
      {"crop and pad", "center_crop_pad", "axes=0,1", "i32[1,3]=1,2,3 i64[2]=3,1", "i32[3,1]=0,2,0"},
      {"cache wraps", "tensor_scatter", "mode=circular axis=1", "i32[1,3]=1,2,3 i32[1,2]=8,9 i64[1]=2",
       "i32[1,3]=9,2,8"},
      {"cache overflows", "tensor_scatter", "axis=1", "i32[1,3]=1,2,3 i32[1,2]=8,9 i64[1]=2", "INVALID"},
      {"hardmax", "hardmax", "", "f32[2,2]=1,1,0,3", "f32[2,2]=1,0,0,1"},
      {"window", "hann_window", "", "i64[]=4", "f32[4]=0,0.5,1,0.5"},
      {"shuffle", "channel_gather", "channels=2,0,1,0 split=1,3", "i32[2,2]=1,2,3,4 i32[2,1]=5,6",
       "i32[2,1]=5,6 i32[2,3]=1,2,1,3,4,3"},
      {"pairs that say nothing", "pairwise_coupling", "classes=3", "f32[1,3]=0.5,0.5,0.5",
       "f32[1,3]=0.33333333,0.33333333,0.33333333"},
      {"pairs of four classes", "pairwise_coupling", "classes=4", "f32[1,3]=0.5,0.5,0.5", "MALFORMED"},
      {"shape subgraph", "where", "", "bool[2]=1,0 i64[2]=3,4 i64[2]=5,6", "i64[2]=3,6"},
  };
  check_cases(rows, HN_COUNT(rows));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_shapes_by_indices),
                                     cmocka_unit_test(test_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
