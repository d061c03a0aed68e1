/* SPDX-License-Identifier: Apache-2.0 */
/* proto.h - protocol buffer messages (wire format of protobuf 2 and 3, without groups) decoded into C structs.
 *
 * A message is a const table of fields: number, kind, where it goes in the struct. One loop with an explicit stack
 * reads all of them, so that depth, counts and lengths are bounded in one place. Long data stays where it is: BYTES
 * are views of the input, which must outlive them. Unknown fields are skipped; a known field of another wire type, a
 * number that does not end, a length past the end and a second occurrence of a single message are MALFORMED, with the
 * byte's offset and the way there, such as graph.node[3].attribute[0]. */
#ifndef HN_BASE_PROTO_H
#define HN_BASE_PROTO_H

#include "base/diag.h"
#include "base/memory.h"
#include <stdint.h>

enum { HN_PROTO_MAX_DEPTH = 64, HN_PROTO_MAX_FIELDS = 24, HN_PROTO_MAX_LIMITS = 4 };

typedef enum hn_proto_kind {
  HN_PROTO_INT,        /* int64_t */
  HN_PROTO_FLOAT,      /* float */
  HN_PROTO_TEXT,       /* const char *: a copy that ends with a zero byte; "" when absent */
  HN_PROTO_BYTES,      /* hn_proto_bytes */
  HN_PROTO_MESSAGE,    /* pointer to the message's struct; NULL when absent */
  HN_PROTO_INTS,       /* from here on hn_proto_list, of int64_t */
  HN_PROTO_FLOATS,     /* float */
  HN_PROTO_DOUBLES,    /* double */
  HN_PROTO_TEXTS,      /* const char * */
  HN_PROTO_BYTES_LIST, /* hn_proto_bytes */
  HN_PROTO_MESSAGES    /* the message's structs, one after the other */
} hn_proto_kind;

typedef struct hn_proto_bytes {
  const uint8_t *data; /* NULL when absent */
  size_t length;
} hn_proto_bytes;

typedef struct hn_proto_list {
  int64_t count;
  void *items;
} hn_proto_list;

struct hn_proto_message;
typedef struct hn_proto_field {
  uint32_t number;
  hn_proto_kind kind;
  const char *name;                       /* for messages */
  size_t offset;                          /* in the struct */
  size_t given_offset;                    /* of a bool that tells whether the field was there; 0: none */
  const struct hn_proto_message *message; /* of the kinds MESSAGE and MESSAGES */
} hn_proto_field;

typedef struct hn_proto_message {
  const char *name;
  size_t bytes; /* of the struct */
  int limit;    /* 1 + index into hn_proto_limits.counts; 0: none */
  int field_count;
  const hn_proto_field *fields;
} hn_proto_message;

typedef struct hn_proto_limits {
  int64_t text_bytes; /* of one text */
  struct {
    const char *what; /* "nodes" */
    int64_t most;     /* of all messages of that kind together */
  } counts[HN_PROTO_MAX_LIMITS];
} hn_proto_limits;

/* *out is a struct of the message in the arena. Errors: MALFORMED, LIMIT, NO_MEMORY. */
hone_status hn_proto_decode(hone_diagnostics *diag, hn_arena *arena, const hn_proto_limits *limits,
                            const hn_proto_message *message, const void *bytes, size_t count, void **out);

#endif
