/* SPDX-License-Identifier: Apache-2.0 */
/* elements.h - types and tensors' elements as text that reads back to the same bits. */
#ifndef HN_IR_ELEMENTS_H
#define HN_IR_ELEMENTS_H

#include "ir/graph.h"
#include "ir/lex.h"

/* "1, 2.5, #7fc00001": shortest decimals; bits where a decimal would not give the same element back. */
void hn_text_elements(hn_text *text, const hone_tensor *tensor);

/* "f32[N,3]", "sequence(f32[*])", "absent". The current token is the type's first. */
hone_status hn_lex_type(hn_lexer *lexer, hone_dims *dims, hone_type *out);

/* Elements up to the mark `close`, which is taken; as many as the type, with known dims, says. Memory is in the arena
 * and bounded by the text's length. */
hone_status hn_lex_elements(hn_lexer *lexer, const hone_type *type, char close, hone_tensor *out);
/* One element into a tensor whose bytes are there. */
hone_status hn_lex_element(hn_lexer *lexer, hone_tensor *tensor, int64_t at);

#endif
