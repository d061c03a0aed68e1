/* SPDX-License-Identifier: Apache-2.0 */
/* mel_weight_matrix.c - triangles that turn spectrogram bins into mel bins. Source: ONNX operator MelWeightMatrix. */
#include "ops/common_nn.h"
#include "ops/onnx_tensor.h"
#include <math.h>
#include <string.h>

enum { MEL_BINS, DFT_LENGTH, SAMPLE_RATE, LOW_HERTZ, HIGH_HERTZ };

static hone_status infer(hone_infer *infer) {
  int64_t count = 0;
  const int64_t *bins = hn_in_value(infer, MEL_BINS, &count), *length = hn_in_value(infer, DFT_LENGTH, &count);
  const hone_dtype dtype = hn_dtype_of_onnx(hn_attr_int(infer->attrs, "output_datatype"));
  if (!(HONE_BIT(dtype) & HONE_TYPES_NUMBER))
    return HN_INFER_FAIL(infer, "output_datatype is %lld, which is not a numeric type",
                         (long long)hn_attr_int(infer->attrs, "output_datatype"));
  hn_out_dtype(infer, 0, dtype);
  if (!bins || !length || HONE_SYMBOLIC(*bins) || HONE_SYMBOLIC(*length))
    return hn_out_after_run(infer, 0, 2, INT64_MAX);
  if (*bins < 1 || *bins > INT32_MAX || *length < 1 || *length > INT32_MAX)
    return HN_INFER_FAIL(infer, "num_mel_bins is %lld and dft_length %lld, expected 1 to 2^31 - 1", (long long)*bins,
                         (long long)*length);
  const int64_t dim[2] = {*length / 2 + 1, *bins};
  hn_out_shape(infer, 0, 2, dim);
  return HONE_OK;
}

/* The spectrogram bin at the lower edge of mel bin i. */
static double edge(const hone_eval *eval, int64_t i) {
  const double low = 2595 * log10(1 + hn_real(&eval->in[LOW_HERTZ], 0) / 700);
  const double high = 2595 * log10(1 + hn_real(&eval->in[HIGH_HERTZ], 0) / 700);
  const double mel = low + (double)i * (high - low) / (hn_real(&eval->in[MEL_BINS], 0) + 2);
  const double hertz = 700 * (pow(10, mel / 2595) - 1);
  return floor((hn_real(&eval->in[DFT_LENGTH], 0) + 1) * hertz / hn_real(&eval->in[SAMPLE_RATE], 0));
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  hone_tensor *y = &eval->out[0];
  const int64_t rows = y->type.shape.dim[0], bins = y->type.shape.dim[1];
  (void)window;
  memset(y->data, 0, hn_bytes(&y->type));
  for (int64_t i = 0; i < bins; ++i) {
    const double left = edge(eval, i), centre = edge(eval, i + 1), right = edge(eval, i + 2);
    if (!(left >= 0 && left <= centre && centre <= right && right <= (double)rows))
      return HN_FAIL(eval->diagnostics, HONE_MALFORMED, "the edges of mel bin %lld lie outside the spectrum",
                     (long long)i);
    for (int64_t j = (int64_t)left; j < rows && (double)j <= right; ++j) {
      const double at = (double)j;
      double weight = 0;
      if (at <= centre) weight = centre == left ? 1 : (at - left) / (centre - left);
      if (at >= centre && right > centre) weight = at < right ? (right - at) / (right - centre) : 0;
      if (weight != 0) hn_store_real(y, j * bins + i, weight);
    }
  }
  return HONE_OK;
}

const hone_op hn_op_mel_weight_matrix = {
    .struct_size = sizeof(hone_op),
    .name = "mel_weight_matrix",
    .doc = "triangles that turn spectrogram bins into mel bins",
    .in = {{"num_mel_bins", 'i', HONE_TYPES_INDEX, 0},
           {"dft_length", 'i', HONE_TYPES_INDEX, 0},
           {"sample_rate", 'i', HONE_TYPES_INDEX, 0},
           {"lower_edge_hertz", 'f', HONE_TYPES_FLOAT, 0},
           {"upper_edge_hertz", 'f', HONE_TYPES_FLOAT, 0}},
    .out = {{"output", 0, HONE_TYPES_NUMBER, 0}},
    .attr = {HONE_INT_ATTR("output_datatype", 1)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .onnx = {{.name = "MelWeightMatrix", .first = 17, .last = HONE_LATEST}},
};
