/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - protobuf's wire format. Source: the public description of the protobuf encoding. */
#include "export/wire.h"
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

size_t hn_wire_varint_bytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

static void varint(hn_text *out, uint64_t value) {
  uint8_t bytes[10];
  size_t count = 0;
  for (; value >= 0x80; value >>= 7) bytes[count++] = (uint8_t)(value | 0x80);
  bytes[count++] = (uint8_t)value;
  hn_text_add_bytes(out, bytes, count);
}

static void tag(hn_text *out, uint32_t field, unsigned wire) { varint(out, (uint64_t)field << 3 | wire); }

void hn_wire_length(hn_text *out, uint32_t field, uint64_t bytes) {
  tag(out, field, WIRE_BYTES);
  varint(out, bytes);
}

void hn_wire_int(hn_text *out, uint32_t field, int64_t value) {
  tag(out, field, WIRE_VARINT);
  varint(out, (uint64_t)value);
}

void hn_wire_float(hn_text *out, uint32_t field, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint8_t bytes[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16), (uint8_t)(bits >> 24)};
  tag(out, field, WIRE_FIXED32);
  hn_text_add_bytes(out, bytes, sizeof bytes);
}

void hn_wire_bytes(hn_text *out, uint32_t field, const void *bytes, size_t count) {
  hn_wire_length(out, field, count);
  if (count > 0) hn_text_add_bytes(out, bytes, count);
}

void hn_wire_string(hn_text *out, uint32_t field, const char *string) {
  hn_wire_bytes(out, field, string, strlen(string));
}

void hn_wire_message(hn_text *out, uint32_t field, hn_text *message) {
  out->failed |= message->failed;
  hn_wire_bytes(out, field, hn_text_string(message), message->length);
  hn_text_clear(message);
}
