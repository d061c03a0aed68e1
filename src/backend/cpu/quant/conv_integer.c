/* SPDX-License-Identifier: Apache-2.0 */
/* conv_integer.c - convolution of bytes as i32 sums; the zero point of x comes with each run. */
#include "backend/cpu/quant/conv_bytes.h"

#define COMMON                                                                                                         \
  .flags = HONE_TACTIC_REPEATABLE, .plan = hn_cpu_conv_bytes_plan, .pack = hn_cpu_conv_bytes_pack,                     \
  .launch = hn_cpu_conv_bytes_launch

const hone_tactic hn_tactics_cpu_conv_integer[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.conv_integer.tiles.amx_int8", .version = 1, .op = "conv_integer",
     .isa = HONE_ISA_AMX_INT8, .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW16C},
                  {HONE_PLAIN, HONE_NCHW16C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel =
         &(const hn_cpu_conv_bytes_row){hn_conv_bytes_tiles_amx_int8, false, HN_CPU_SUMS, 4, 64, 16, 16, 0.6, 1000.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.avx512_vnni", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX512_VNNI, .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW16C},
                  {HONE_PLAIN, HONE_NCHW16C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_avx512_vnni, false, HN_CPU_SUMS, 4, 4, 16, 16, 0.6, 300.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.dw.avx512_vnni", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX512_VNNI, .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW16C},
                  {HONE_PLAIN, HONE_NCHW16C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_dw_avx512_vnni, true, HN_CPU_SUMS, 4, 4, 64, 16, 0.4, 60.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.avx512", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX512, .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW16C},
                  {HONE_PLAIN, HONE_NCHW16C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_avx512, false, HN_CPU_SUMS, 2, 2, 16, 16, 1.1, 120.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.dw.avx512", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX512, .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages = {{HONE_PLAIN, HONE_PLAIN},
                  {HONE_NCHW64C, HONE_NCHW16C},
                  {HONE_PLAIN, HONE_NCHW16C},
                  {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_dw_avx512, true, HN_CPU_SUMS, 2, 2, 64, 16, 0.4, 30.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.avx_vnni", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX_VNNI, .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_avx_vnni, false, HN_CPU_SUMS, 4, 4, 16, 8, 0.6, 150.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.dw.avx_vnni", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX_VNNI, .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_dw_avx_vnni, true, HN_CPU_SUMS, 4, 4, 32, 8, 0.4, 30.0},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.avx2", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX2, .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_avx2, false, HN_CPU_SUMS, 2, 2, 16, 8, 1.1, 60.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.dw.avx2", .version = 2, .op = "conv_integer",
     .isa = HONE_ISA_AVX2, .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_dw_avx2, true, HN_CPU_SUMS, 2, 2, 32, 8, 0.4, 15.0},
     COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.c", .version = 2, .op = "conv_integer", .isa = HONE_ISA_C,
     .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_c, false, HN_CPU_SUMS, 2, 2, 16, 8, 1.1, 15.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.u8s8.dw.c", .version = 2, .op = "conv_integer", .isa = HONE_ISA_C,
     .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_dw_c, true, HN_CPU_SUMS, 2, 2, 16, 8, 0.4, 4.0}, COMMON},
    {sizeof(hone_tactic), .name = "cpu.conv_integer.tiles.c", .version = 1, .op = "conv_integer", .isa = HONE_ISA_C,
     .pack_mask = HN_CPU_INTEGER_PACKED,
     .storages =
         {{HONE_PLAIN, HONE_PLAIN}, {HONE_NCHW64C, HONE_NCHW8C}, {HONE_PLAIN, HONE_NCHW8C}, {HONE_NCHW64C, HONE_PLAIN}},
     .kernel = &(const hn_cpu_conv_bytes_row){hn_conv_bytes_tiles_c, false, HN_CPU_SUMS, 4, 64, 16, 8, 0.05, 1.0},
     COMMON},
    {0}};
