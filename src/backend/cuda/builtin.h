/* SPDX-License-Identifier: Apache-2.0 */
/* builtin.h - the kernels of src/kernels/cuda, which lie in this module as the driver loads them, by number. */
#ifndef HN_BACKEND_CUDA_BUILTIN_H
#define HN_BACKEND_CUDA_BUILTIN_H

/* row(file, kernel): the kernel hn_KERNEL of FILE.cu, files one after the other. */
#define HN_CUDA_BUILTINS(row)                                                                                          \
  row(rows, softmax_f32) row(rows, log_softmax_f32) row(rows, layer_norm_f32) row(rows, rms_norm_f32)                  \
      row(rows, gather_i32) row(rows, gather_i64) row(move, move_8) row(move, move_16) row(move, move_32)              \
          row(move, move_64) row(move, move_128) row(move, pad_8) row(move, pad_16) row(move, pad_32)                  \
              row(move, pad_64) row(move, cast) row(reduce, fold_block) row(reduce, fold_thread)                       \
                  row(reduce, softmax_across) row(pool, max_pool) row(pool, average_pool) row(pool, conv_depthwise)    \
                      row(attention, attention_1_2) row(attention, attention_1_4) row(attention, attention_1_8)        \
                          row(attention, attention_2_2) row(attention, attention_2_4) row(attention, attention_2_8)    \
                              row(attention, attention_4_2) row(attention, attention_4_4) row(product, product_64_64)  \
                                  row(product, product_64_64_t) row(product, product_128_64)                           \
                                      row(product, product_128_64_t) row(product, product_128_128)                     \
                                          row(product, product_128_128_t) row(product, product_finish)                 \
                                              row(implicit, implicit_64_64) row(implicit, implicit_64_64_f)            \
                                                  row(implicit, implicit_128_64) row(implicit, implicit_128_64_f)      \
                                                      row(implicit, implicit_128_128)                                  \
                                                          row(implicit, implicit_128_128_f)                            \
                                                              row(implicit, implicit_finish)
#define HN_CUDA_FILES(row) row(rows) row(move) row(reduce) row(pool) row(attention) row(product) row(implicit)

#define HN_CUDA_BUILTIN_NUMBER(file, kernel) HN_CUDA_##kernel,
typedef enum hn_cuda_builtin { HN_CUDA_BUILTINS(HN_CUDA_BUILTIN_NUMBER) HN_CUDA_BUILTIN_COUNT } hn_cuda_builtin;
#define HN_CUDA_FILE_NUMBER(file) HN_CUDA_FILE_##file,
typedef enum hn_cuda_file { HN_CUDA_FILES(HN_CUDA_FILE_NUMBER) HN_CUDA_FILE_COUNT } hn_cuda_file;

#endif
