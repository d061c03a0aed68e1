/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - sequences and optionals: arrays of tensors that nobody changes, so that they can be shared. */
#ifndef HN_TENSOR_LIST_H
#define HN_TENSOR_LIST_H

#include <hone/types.h>

static inline const hone_tensor *hn_list_items(const hone_tensor *list) { return list->data; }
/* What a whole copy takes: elements, their elements and the text of strings. false: more than memory can be. */
bool hn_value_copy_bytes(const hone_tensor *value, size_t *out);
/* A copy in one block of that many bytes, aligned to 64: it points to nothing outside. out->bytes says how many. */
void hn_value_copy(const hone_tensor *value, void *block, hone_tensor *out);

#endif
