/* SPDX-License-Identifier: Apache-2.0 */
/* compile_target.c - devices as passes see them: one question, asked of every tactic in every storage. */
#include "api/compile.h"
#include "base/context.h"
#include "device/device.h"
#include "tensor/dims.h"
#include "tensor/shape.h"
#include <string.h>

/* All symbols get one number, so that what depends on them fits together. */
static void guess_dims(const hone_dims *dims, hone_fact *fact) {
  enum { GUESS = 64, MOST_SYMBOLS = 256 };
  int64_t values[MOST_SYMBOLS];
  const hone_shape shape = fact->type.shape;
  if (hn_shape_known(&shape)) return;
  for (int i = 0; i < MOST_SYMBOLS; ++i) values[i] = GUESS;
  for (int i = 0; i < shape.rank; ++i) {
    int64_t *dim = &fact->type.shape.dim[i];
    if (HONE_SYMBOLIC(*dim) && (!hn_dim_eval(dims, *dim, values, MOST_SYMBOLS, dim) || *dim < 1)) *dim = GUESS;
  }
}

static bool tactic_accepts(const hone_tactic *tactic, const hone_device *device, uint32_t precisions,
                           const hone_query *asked) {
  if (tactic->flags & (HONE_TACTIC_REFERENCE | HONE_TACTIC_DATA_DEPENDENT) || !hn_tactic_covers(tactic, asked->op))
    return false;
  if ((tactic->isa & device->facts.isa) != tactic->isa) return false;
  for (int f = 0; f < HONE_MAX_STORAGE_PAIRS; ++f) {
    const hone_storage_pair *pair = &tactic->storages[f];
    if (f > 0 && pair->in == HONE_PLAIN && pair->out == HONE_PLAIN) break;
    const hone_storage_pair taken =
        hn_storages_taken(asked->op, pair, asked->in, asked->in_count, asked->out, asked->out_count);
    if (hn_tactic_narrows(tactic, &taken, precisions) != HONE_NONE) continue;
    hone_fact in[HONE_MAX_PORTS * 2], out[HONE_MAX_PORTS];
    memcpy(in, asked->in, (size_t)asked->in_count * sizeof *in);
    memcpy(out, asked->out, (size_t)asked->out_count * sizeof *out);
    hone_query query = *asked;
    hone_needs needs;
    query.tactic = tactic;
    query.in = in;
    query.out = out;
    query.facts = &device->facts;
    hn_query_apply_storages(asked->op, pair, in, query.in_count, out, query.out_count);
    if (!hn_tactic_plan(&query, NULL, &needs)) return true;
  }
  return false;
}

static hn_reach reach(void *user, const hone_op *op, const hone_attrs *attrs, const hone_fact *in, int in_count,
                      const hone_fact *out, int out_count) {
  const hn_device_target *target = user;
  hone_fact in_copy[HONE_MAX_PORTS * 2], out_copy[HONE_MAX_PORTS];
  if (in_count > HONE_MAX_PORTS * 2 || out_count > HONE_MAX_PORTS) return HN_REACH_NONE;
  hone_query query = {
      .op = op, .attrs = attrs, .in_count = in_count, .out_count = out_count, .in = in_copy, .out = out_copy};
  for (int i = 0; i < in_count; ++i) {
    in_copy[i] = in[i];
    guess_dims(target->dims, &in_copy[i]);
    if (in[i].constant) query.constant_mask |= hn_mask_bit(i);
  }
  for (int i = 0; i < out_count; ++i) {
    out_copy[i] = out[i];
    guess_dims(target->dims, &out_copy[i]);
  }
  hn_reach found = HN_REACH_NONE;
  for (int d = 0; d < target->device_count && found != HN_REACH_AWAY; ++d) {
    const hone_device *device = target->devices[d];
    for (const hone_tactic *const *row = device->tactics; *row; ++row) {
      if (!tactic_accepts(*row, device, target->precisions, &query)) continue;
      found = device->facts.host_memory ? HN_REACH_HOST : HN_REACH_AWAY;
      break;
    }
  }
  return found;
}

hn_target hn_target_of_devices(hone_device *const *devices, int device_count, const hone_dims *dims,
                               uint32_t precisions, hn_device_target *out) {
  *out = (hn_device_target){.devices = devices, .device_count = device_count, .dims = dims, .precisions = precisions};
  return (hn_target){.user = out, .reach = reach};
}
