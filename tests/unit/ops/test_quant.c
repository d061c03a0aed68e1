/* SPDX-License-Identifier: Apache-2.0 */
/* test_quant.c - quantised operators: what infer says, and rounding and saturation worked out by hand. */
#include "unit/ops/op_case.h"

extern const hone_op hn_op_quantize_linear, hn_op_dequantize_linear, hn_op_dynamic_quantize_linear, hn_op_conv_integer,
    hn_op_matmul_integer, hn_op_qlinear_conv, hn_op_qlinear_matmul;

static const op_infer_row infer_rows[] = {
    {"the zero point's type", &hn_op_quantize_linear, "f32[2,3] f32[] i8[]", {{0}}, HONE_OK, "i8[2,3]"},
    {"u8 without one", &hn_op_quantize_linear, "f32[N,3] f32[3]", {{0}}, HONE_OK, "u8[N,3]"},
    {"output_dtype int4", &hn_op_quantize_linear, "f32[2,3] f32[]", {OP_INT("output_dtype", 22)}, HONE_OK, "i4[2,3]"},
    {"output_dtype float", &hn_op_quantize_linear, "f32[2,3] f32[]", {OP_INT("output_dtype", 1)}, HONE_MALFORMED, ""},
    {"output_dtype against zero point",
     &hn_op_quantize_linear,
     "f32[2,3] f32[] i8[]",
     {OP_INT("output_dtype", 2)},
     HONE_MALFORMED,
     ""},
    {"scales along another axis", &hn_op_quantize_linear, "f32[2,3] f32[2]", {{0}}, HONE_MALFORMED, ""},
    {"scales along axis 0", &hn_op_quantize_linear, "f32[2,3] f32[2]", {OP_INT("axis", 0)}, HONE_OK, "u8[2,3]"},
    {"axis out of range", &hn_op_quantize_linear, "f32[2,3] f32[2]", {OP_INT("axis", 2)}, HONE_MALFORMED, ""},
    {"blocks of two", &hn_op_dequantize_linear, "i8[2,5] f16[2,3]", {OP_INT("block_size", 2)}, HONE_OK, "f16[2,5]"},
    {"blocks do not fit", &hn_op_dequantize_linear, "i8[2,5] f16[2,2]", {OP_INT("block_size", 2)}, HONE_MALFORMED, ""},
    {"negative block", &hn_op_dequantize_linear, "i8[2,5] f16[]", {OP_INT("block_size", -1)}, HONE_MALFORMED, ""},
    {"zero point of another shape", &hn_op_dequantize_linear, "i8[2,5] f32[5] i8[4]", {{0}}, HONE_MALFORMED, ""},
    {"conv_integer", &hn_op_conv_integer, "u8[1,1,3,3] i8[2,1,2,2]", {{0}}, HONE_OK, "i32[1,2,2,2]"},
    {"matmul_integer, zero point a row",
     &hn_op_matmul_integer,
     "u8[4,3] i8[3,2] u8[4] i8[2]",
     {{0}},
     HONE_OK,
     "i32[4,2]"},
    {"matmul_integer, zero points too few", &hn_op_matmul_integer, "u8[4,3] i8[3,2] u8[3]", {{0}}, HONE_MALFORMED, ""},
};

static const op_eval_row eval_rows[] = {
    {"half to even, and saturation",
     &hn_op_quantize_linear,
     "f32[6] f32[] i8[]",
     {{0}},
     {{1, 3, 5, -1, 1000, -1000}, {2}, {0}},
     0,
     {0, 2, 2, 0, 127, -128},
     0},
    {"the zero point comes after rounding",
     &hn_op_quantize_linear,
     "f32[3] f32[] u8[]",
     {{0}},
     {{1, 3, -1000}, {2}, {1}},
     0,
     {1, 3, 0},
     0},
    {"one scale a column",
     &hn_op_quantize_linear,
     "f32[2,2] f32[2] u8[2]",
     {{0}},
     {{4, 4, 8, 8}, {1, 2}, {0, 100}},
     0,
     {4, 102, 8, 104},
     0},
    {"blocks",
     &hn_op_dequantize_linear,
     "i8[1,4] f32[1,2]",
     {OP_INT("block_size", 2)},
     {{1, 2, 3, 4}, {1, 10}},
     0,
     {1, 2, 30, 40},
     0},
    {"int4", &hn_op_dequantize_linear, "i4[3] f32[] i4[]", {{0}}, {{-8, 7, 1}, {0.5}, {1}}, 0, {-4.5, 3, 0}, 0},
    {"f8 saturates", &hn_op_quantize_linear, "f32[2] f32[] f8e4m3fn[]", {{0}}, {{1e6, -3}, {1}, {0}}, 0, {448, -3}, 0},
    {"dynamic range holds zero", &hn_op_dynamic_quantize_linear, "f32[2]", {{0}}, {{255, 51}}, 0, {255, 51}, 0},
    {"dynamic zero point", &hn_op_dynamic_quantize_linear, "f32[2]", {{0}}, {{-51, 204}}, 2, {51}, 0},
    {"dynamic, all zeros", &hn_op_dynamic_quantize_linear, "f32[2]", {{0}}, {{0, 0}}, 1, {1}, 0},
    {"conv_integer: pads are the zero point",
     &hn_op_conv_integer,
     "u8[1,1,2] i8[1,1,3] u8[]",
     {OP_INTS("pads", 1, 1)},
     {{11, 12}, {1, 1, 1}, {10}},
     0,
     {3, 3},
     0},
    {"matmul_integer, zero points",
     &hn_op_matmul_integer,
     "u8[2,1] i8[1,2] u8[2] i8[2]",
     {{0}},
     {{5, 6}, {3, 4}, {1, 2}, {0, 2}},
     0,
     {12, 8, 12, 8},
     0},
    {"qlinear_matmul rounds half to even",
     &hn_op_qlinear_matmul,
     "u8[1,1] f32[] u8[] u8[1,1] f32[] u8[] f32[] u8[]",
     {{0}},
     {{5}, {1}, {0}, {1}, {1}, {0}, {2}, {7}},
     0,
     {9},
     0},
    {"qlinear_conv with bias",
     &hn_op_qlinear_conv,
     "u8[1,1,1] f32[] u8[] i8[1,1,1] f32[1] i8[1] f32[] u8[] i32[1]",
     {{0}},
     {{12}, {0.5}, {2}, {4}, {0.5}, {0}, {1}, {100}, {8}},
     0,
     {112},
     0},
};

static void test_infer(void **state) {
  (void)state;
  op_check_infer(infer_rows, HN_COUNT(infer_rows));
}
static void test_eval(void **state) {
  (void)state;
  op_check_eval(eval_rows, HN_COUNT(eval_rows));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_infer), cmocka_unit_test(test_eval)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
