/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c - inputs that are sequences or optionals: the session has a whole copy of what was given last. */
#include "base/memory.h"
#include "run/session.h"
#include "tensor/list.h"
#include "tensor/shape.h"

static void drop_list(hone_session *session, int input) {
  hn_free(&session->allocator, session->lists[input].data, session->lists[input].bytes);
  session->lists[input] = (hone_tensor){0};
}

/* Sequences and optionals are copied whole, whatever they point to. */
static hone_status copy_list(hone_session *session, int at, const hone_tensor *list) {
  size_t bytes;
  if (!hn_value_copy_bytes(list, &bytes)) return HN_FAIL(&session->diag, HONE_LIMIT, "the input is too large");
  void *block = hn_alloc(&session->allocator, bytes ? bytes : 1);
  if (!block) return HN_FAIL_MEMORY(&session->diag);
  drop_list(session, at);
  hn_value_copy(list, block, &session->lists[at]);
  session->lists[at].bytes = bytes ? bytes : 1;
  session->bound_in[at] = session->lists[at];
  session->bindings_changed = true;
  return HONE_OK;
}

/* Elements of the planned type, each a whole tensor; an optional sequence has sequences for them. */
static hone_status check_list(hone_session *session, const char *what, const hone_type *planned, hone_kind kind,
                              const hone_tensor *list) {
  const int64_t most = kind == HONE_SEQUENCE ? INT64_MAX : 1;
  if (list->type.kind != kind || list->type.dtype != planned->dtype || list->type.shape.rank != 1 ||
      list->type.shape.dim[0] < 0 || list->type.shape.dim[0] > most || (list->type.shape.dim[0] > 0 && !list->data))
    return HN_FAIL(&session->diag, HONE_INVALID, "%s: it is not a list of the kind and element type of the input",
                   what);
  for (int64_t i = 0; i < list->type.shape.dim[0]; ++i) {
    const hone_tensor *item = &hn_list_items(list)[i];
    if (kind == HONE_OPTIONAL_SEQUENCE) {
      HN_TRY(check_list(session, what, planned, HONE_SEQUENCE, item));
      continue;
    }
    HN_TRY(hn_tensor_check(&session->diag, what, item));
    if (item->type.dtype != planned->dtype)
      return HN_FAIL(&session->diag, HONE_INVALID, "%s: element %lld is %s, not %s", what, (long long)i,
                     hone_dtype_name(item->type.dtype), hone_dtype_name(planned->dtype));
  }
  return HONE_OK;
}

hone_status hn_session_put_list(hone_session *session, int input, const hone_tensor *list) {
  const hn_plan *common = hn_engine_common(session->engine);
  const hone_type *planned = &common->tensors[common->inputs[input].tensor].type;
  HN_TRY(check_list(session, common->inputs[input].name, planned, planned->kind, list));
  return copy_list(session, input, list);
}

void hn_session_drop_lists(hone_session *session) {
  const hn_plan *common = hn_engine_common(session->engine);
  for (int i = 0; session->lists && i < common->input_count; ++i) drop_list(session, i);
}
