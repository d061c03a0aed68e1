/* SPDX-License-Identifier: Apache-2.0 */
/* ort_api.c - the functions of ONNX Runtime, taken from their places in its tables. */
#include "ort_api.h"
#include <stdio.h>
#include <string.h>

typedef void (*ort_slot)(void);

/* The pointer at a place; types differ, so its bytes are copied. */
static bool take(const void *table, int slot, void *out) {
  const ort_slot *slots = table;
  memcpy(out, &slots[slot], sizeof(ort_slot));
  return slots[slot] != NULL;
}

/* Asked for a version that it does not have, the runtime writes to standard error; so its own is not exceeded. */
static uint32_t newest_version(const ort_api_base *base) {
  const char *text = base->GetVersionString ? base->GetVersionString() : NULL;
  unsigned minor = 0;
  if (!text || sscanf(text, "1.%u", &minor) != 1) return ORT_VERSION_NEWEST;
  return minor < ORT_VERSION_NEWEST ? minor : ORT_VERSION_NEWEST;
}

const char *ort_calls_find(const ort_api_base *base, ort_calls *out, uint32_t *out_version) {
  const OrtApi *api = NULL;
  bool there = true;
  *out = (ort_calls){0};
  *out_version = 0;
  if (!base || !base->GetApi) return "ONNX Runtime gave no API";
  uint32_t version = newest_version(base) + 1;
  while (!api && version > ORT_VERSION_OLDEST) api = base->GetApi(--version);
  if (!api) return "this ONNX Runtime is too old for hone's provider: version 1.23 or later is needed";
#define ORT_CALL(slot, result, name, parameters) there &= take(api, slot, &out->name);
#define ORT_LATER_CALL(since, slot, result, name, parameters)                                                          \
  if (version >= since) there &= take(api, slot, &out->name);
#define ORT_EP_CALL(slot, result, name, parameters)
#define ORT_EDITOR_CALL(slot, result, name, parameters)
#include "ort_calls.inc"
#undef ORT_CALL
#undef ORT_LATER_CALL
#undef ORT_EP_CALL
#undef ORT_EDITOR_CALL
  if (!there) return "ONNX Runtime's table of functions has holes";
  const void *ep = out->GetEpApi();
  const void *editor = out->GetModelEditorApi(); /* NULL in builds without it: no compiled models are written then */
  if (!ep) return "this build of ONNX Runtime has no interface for providers";
#define ORT_CALL(slot, result, name, parameters)
#define ORT_LATER_CALL(since, slot, result, name, parameters)
#define ORT_EP_CALL(slot, result, name, parameters) there &= take(ep, slot, &out->name);
#define ORT_EDITOR_CALL(slot, result, name, parameters)                                                                \
  if (editor) there &= take(editor, slot, &out->name);
#include "ort_calls.inc"
#undef ORT_CALL
#undef ORT_LATER_CALL
#undef ORT_EP_CALL
#undef ORT_EDITOR_CALL
  if (!there) return "ONNX Runtime's table of functions for providers has holes";
  *out_version = version;
  return NULL;
}
