/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - the weights of a schedule: constants and packed blobs, in the order of first use, put into the region
 * that the schedules share. */
#include "lower/lowering.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/pool.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include <string.h>

enum { ALIGNMENT = 64 };

static uint64_t tensor_key(const hone_tensor *tensor) {
  return hn_hash_join(hn_hash(tensor->data, tensor->bytes), hn_hash(&tensor->type.shape, sizeof(int32_t)));
}

/* Equal keys mean equal bytes: dtype, dims, storage, and for packed ones the tactic, its parameters and the constants,
 * also those that launch is given: pack may read them, too. */
static bool item_key(const hn_lowering *lowering, const hn_weight_item *item, uint64_t *out) {
  uint64_t key = hn_hash_text(item->how);
  if (!item->choice) {
    key = hn_hash_join(key, tensor_key(item->constant));
    key = hn_hash_join(key, (uint64_t)item->constant->type.dtype);
    for (int i = 0; i < item->constant->type.shape.rank; ++i)
      key = hn_hash_join(key, (uint64_t)item->constant->type.shape.dim[i]);
    *out = hn_hash_join(key, (uint64_t)item->storage);
    return true;
  }
  const hn_candidate *candidate = &item->choice->candidates[item->choice->chosen];
  for (int p = 0; p < candidate->params.count; ++p) {
    key = hn_hash_join(key, hn_hash_text(candidate->params.items[p].name));
    key = hn_hash_join(key, (uint64_t)candidate->params.items[p].value);
  }
  hn_text attrs; /* group counts and the like decide the packing too */
  hn_text_init(&attrs, lowering->context->allocator);
  hn_text_attrs(&attrs, &item->choice->node->attrs, NULL);
  key = hn_hash_join(key, hn_hash_text(hn_text_string(&attrs)));
  const bool failed = attrs.failed;
  hn_text_deinit(&attrs);
  if (failed) return false;
  for (int i = 0; i < item->choice->node->in_count; ++i) {
    const hone_tensor *constant = item->choice->in[i].constant;
    key = hn_hash_join(key, (uint64_t)i);
    if (constant) {
      key = hn_hash_join(key, tensor_key(constant));
      for (int d = 0; d < constant->type.shape.rank; ++d)
        key = hn_hash_join(key, (uint64_t)constant->type.shape.dim[d]);
    }
  }
  *out = key;
  return true;
}

hone_status hn_lowering_add_weight(hn_lowering *lowering, const hn_weight_item *item, int *out) {
  uint64_t key;
  if (!item_key(lowering, item, &key)) return HN_FAIL_MEMORY(&lowering->context->diag);
  for (int i = -1; (i = hn_buckets_find(&lowering->weights_by_key, key, i)) >= 0;)
    if (lowering->weights[i].bytes == item->bytes) {
      *out = i;
      return HONE_OK;
    }
  if (!hn_arena_grow(&lowering->plan->arena, (void **)&lowering->weights, &lowering->weight_capacity,
                     lowering->weight_count + 1, sizeof *lowering->weights) ||
      !hn_buckets_add(&lowering->weights_by_key, &lowering->plan->arena, key))
    return HN_FAIL_MEMORY(&lowering->context->diag);
  lowering->weights[lowering->weight_count] = *item;
  lowering->weights[lowering->weight_count].key = key;
  *out = lowering->weight_count++;
  return HONE_OK;
}

/* ---- writing them, some at a time ---- */

/* An item on its way into the region. */
typedef struct writing {
  hn_weight_item *item;
  hone_query query;   /* of what is packed here */
  const void *packed; /* before; NULL: here */
  uint64_t at;        /* where it lies now */
  uint8_t *to;
  hone_status status; /* of pack; INTERNAL: a constant that does not fit its format */
} writing;

static uint64_t room_of(const hn_weight_item *item) { return (item->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static hone_status write_constant(const hn_weight_item *item, uint8_t *to) {
  hone_tensor copy = *item->constant;
  copy.type = hn_stored_type(&item->constant->type, item->storage);
  copy.data = to;
  copy.bytes = (size_t)item->bytes;
  if (item->storage != HONE_PLAIN) return hn_layout_convert(item->constant, &copy) ? HONE_OK : HONE_INTERNAL;
  memcpy(to, item->constant->data, copy.bytes < item->constant->bytes ? copy.bytes : item->constant->bytes);
  return HONE_OK;
}

static void write_part(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  for (writing *w = (writing *)arg + begin; w < (writing *)arg + end; ++w) {
    const size_t before = w->packed ? (size_t)w->item->bytes : 0;
    memset(w->to + before, 0, (size_t)room_of(w->item) - before);
    if (w->packed)
      memcpy(w->to, w->packed, before);
    else
      w->status = w->item->choice ? w->query.tactic->pack(&w->query, w->to) : write_constant(w->item, w->to);
    w->item->hash = hn_hash(w->to, (size_t)w->item->bytes);
  }
}

static hone_status begin_writing(hn_lowering *lowering, hn_weight_item *item, writing *out) {
  *out = (writing){.item = item};
  if (!item->choice) return HONE_OK;
  const hn_candidate *candidate = &item->choice->candidates[item->choice->chosen];
  out->packed = candidate->packed;
  const hn_node *node = item->choice->node;
  hone_fact *facts = HN_NEW(&lowering->plan->arena, hone_fact, node->in_count + node->out_count);
  if (!facts) return HN_FAIL_MEMORY(&lowering->context->diag);
  hn_candidate_query(lowering->choices, item->choice, candidate, facts, facts + node->in_count, &out->query);
  return HONE_OK;
}

static hone_status check_written(const hn_lowering *lowering, const writing *w) {
  hone_diagnostics *diag = &lowering->context->diag;
  if (w->status == HONE_OK) return HONE_OK;
  if (w->item->choice) return HN_FAIL(diag, w->status, "tactic %s could not pack its weights", w->query.tactic->name);
  return HN_FAIL(diag, w->status, "a constant does not fit its format");
}

/* Room for all, written by all threads, then kept one after the other: what equals an earlier one closes up. */
static hone_status write_items(hn_lowering *lowering, writing *items, int count, uint64_t bytes) {
  hone_diagnostics *diag = &lowering->context->diag;
  hn_schedules *schedules = lowering->schedules;
  uint8_t *room;
  HN_TRY(hn_schedules_room(schedules, bytes, &room, diag));
  for (int i = 0; i < count; ++i) items[i].to = room + items[i].at;
  const hn_pool *own = hn_devices_pool(lowering->choices->devices, lowering->choices->device_count);
  hn_pool pool = own ? *own : (hn_pool){0};
  pool.stop = &lowering->context->stop;
  hn_pool_run(own ? &pool : NULL, count, 1, write_part, items);
  HN_TRY(hn_check_stop(lowering->context));
  for (int i = 0; i < count; ++i) {
    hn_weight_item *item = items[i].item;
    const hn_weight_blob blob = {
        .bytes = item->bytes, .hash = item->hash, .how = item->how, .from_count = item->from_count, .from = item->from};
    HN_TRY(check_written(lowering, &items[i]));
    HN_TRY(hn_schedules_keep(schedules, &blob, items[i].to, &item->offset, diag));
  }
  return HONE_OK;
}

/* The tensors and steps that know their item by its number now know its place. */
static void place(hn_lowering *lowering) {
  hn_plan *plan = lowering->plan;
  for (int t = 0; t < plan->tensor_count; ++t)
    if (plan->tensors[t].place == HN_PLACE_CONSTANT) {
      plan->tensors[t].offset = lowering->weights[plan->tensors[t].index].offset;
      plan->tensors[t].index = 0;
    }
  for (int s = 0; s < plan->step_count; ++s)
    if (plan->steps[s].packed_bytes)
      plan->steps[s].packed_offset = lowering->weights[plan->steps[s].packed_offset].offset;
  plan->weights = lowering->schedules->weights;
  plan->weights_bytes = lowering->schedules->weights_bytes;
}

/* The first schedule's weights are all new, but for blobs that happen to be equal. */
static hone_status reserve_first(hn_lowering *lowering) {
  hone_diagnostics *diag = &lowering->context->diag;
  size_t total = 0;
  if (lowering->schedules->count > 0) return HONE_OK;
  for (int i = 0; i < lowering->weight_count; ++i)
    if (!hn_add_size(total, (size_t)lowering->weights[i].bytes, &total) || !hn_align_size(total, ALIGNMENT, &total))
      return HN_FAIL(diag, HONE_LIMIT, "the weights are larger than memory can be");
  return hn_schedules_reserve(lowering->schedules, total, diag);
}

/* So much is written at a time: enough for all threads, and little where most of it turns out to be there already. */
static const uint64_t at_a_time = (uint64_t)64 << 20;

hone_status hn_lowering_weights(hn_lowering *lowering) {
  HN_TRY(reserve_first(lowering));
  writing *items = HN_NEW(&lowering->plan->arena, writing, lowering->weight_count + 1);
  if (!items) return HN_FAIL_MEMORY(&lowering->context->diag);
  for (int first = 0, end; first < lowering->weight_count; first = end) {
    uint64_t bytes = 0;
    for (end = first; end < lowering->weight_count && (end == first || bytes < at_a_time); ++end) {
      HN_TRY(begin_writing(lowering, &lowering->weights[end], &items[end]));
      items[end].at = bytes;
      bytes += room_of(&lowering->weights[end]);
    }
    HN_TRY(write_items(lowering, items + first, end - first, bytes));
  }
  place(lowering);
  return HONE_OK;
}
