/* SPDX-License-Identifier: Apache-2.0 */
/* ir/parse.h - what parse.c and parse_node.c share. */
#ifndef HN_IR_PARSE_H
#define HN_IR_PARSE_H

#include "ir/lex.h"
#include "ir/text.h"

typedef struct hn_parser {
  hone_context *context;
  hone_graph *graph;
  hn_arena scratch; /* of tokens and lists: gone when parsing ends */
  hn_lexer lexer;
  int depth; /* of blocks */
  const uint8_t *far_bytes;
  size_t far_byte_count;
  int64_t filled_bytes; /* of constants whose text is shorter than their data */
} hn_parser;

/* A name that no value has yet: the current token, which is taken. */
hone_status hn_parse_new_name(hn_parser *parser, const char **out);
/* A value that is defined above, or with or_absent "_" for NULL. */
hone_status hn_parse_value(hn_parser *parser, bool or_absent, hn_value **out);
/* One node, blocks and parts included. */
hone_status hn_parse_node(hn_parser *parser, hn_block *block);

#endif
