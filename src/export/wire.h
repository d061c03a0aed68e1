/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h - protobuf messages written into texts; a message inside another is written first and then added whole. */
#ifndef HN_EXPORT_WIRE_H
#define HN_EXPORT_WIRE_H

#include "base/text.h"
#include <stdint.h>

size_t hn_wire_varint_bytes(uint64_t value);
void hn_wire_length(hn_text *out, uint32_t field, uint64_t bytes); /* the head of a field whose bytes follow */
void hn_wire_int(hn_text *out, uint32_t field, int64_t value);
void hn_wire_float(hn_text *out, uint32_t field, float value);
void hn_wire_string(hn_text *out, uint32_t field, const char *string);
void hn_wire_bytes(hn_text *out, uint32_t field, const void *bytes, size_t count);
void hn_wire_message(hn_text *out, uint32_t field, hn_text *message); /* and empties the message */

#endif
