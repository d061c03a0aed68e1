/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_mutate.h - changes of a model that leave it a protobuf message, and mostly a model. */
#ifndef FUZZ_ONNX_MUTATE_H
#define FUZZ_ONNX_MUTATE_H

#include "campaign.h"
#include "onnx_tree.h"

/* One to four changes. donor: another model, of which parts are taken. */
void onnx_mutate(onnx_tree *tree, const onnx_tree *donor, hn_random *random);

#endif
