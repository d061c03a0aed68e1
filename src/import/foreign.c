/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.c - operators that other programs put into the models they save and nobody else knows: what wrote them, and
 * how the model is saved without. Sources: onnxruntime's and onnxruntime-extensions' documentation, that of torch.onnx.
 */
#include "import/importer.h"

typedef struct foreign {
  const char *domain, *op; /* op NULL: all of the domain */
  const char *says;
} foreign;

static const foreign rows[] = {
    {"com.microsoft.nchwc", NULL,
     "onnxruntime made it for this machine's kernels when it saved the model at ORT_ENABLE_ALL; save it at "
     "ORT_ENABLE_EXTENDED instead, or take the model it was made of"},
    {"com.microsoft", "EPContext",
     "it holds what an execution provider of onnxruntime compiled; take the model it was compiled of"},
    {"ai.onnx.contrib", NULL,
     "it is of onnxruntime-extensions, which put what comes before or after a network into the model; export the "
     "network alone"},
    {"org.pytorch.aten", NULL,
     "it calls PyTorch itself, as ONNX_ATEN_FALLBACK leaves it where there is no operator of ONNX; export with "
     "dynamo=True or a newer opset"},
};

const char *hn_import_foreign(const char *domain, const char *op) {
  for (size_t i = 0; i < HN_COUNT(rows); ++i)
    if (hn_name_equal(rows[i].domain, domain) && (!rows[i].op || hn_name_equal(rows[i].op, op))) return rows[i].says;
  return NULL;
}
