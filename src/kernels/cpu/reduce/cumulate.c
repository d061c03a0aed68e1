/* SPDX-License-Identifier: Apache-2.0 */
/* cumulate.c - running sums, of columns side by side wherever there are enough. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/reduce/cumulate.h"
#include "kernels/cpu/simd.inc.h"

enum { GROUP = 8, COLUMNS = 64 };

#define CUMULATE_NUMBER float
#define CUMULATE_SUM double
#define CUMULATE_NAME hn_cumulate_f32
#include "kernels/cpu/reduce/cumulate_typed.inc.h"

#define CUMULATE_NUMBER double
#define CUMULATE_SUM double
#define CUMULATE_NAME hn_cumulate_f64
#include "kernels/cpu/reduce/cumulate_typed.inc.h"

#define CUMULATE_NUMBER int32_t
#define CUMULATE_SUM uint32_t
#define CUMULATE_NAME hn_cumulate_i32
#include "kernels/cpu/reduce/cumulate_typed.inc.h"

#define CUMULATE_NUMBER int64_t
#define CUMULATE_SUM uint64_t
#define CUMULATE_NAME hn_cumulate_i64
#include "kernels/cpu/reduce/cumulate_typed.inc.h"
