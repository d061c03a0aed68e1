/* SPDX-License-Identifier: Apache-2.0 */
/* enumerate.c - asks every tactic of every device about every node, for every pair of storages and variant. Reasons for
 * declining are kept: they are what `hone explain` prints. */
#include "tensor/element.h"
#include "device/isa.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tune/tuning.h"
#include <math.h>
#include <string.h>

bool hn_candidate_usable(const hn_candidate *candidate) {
  return candidate->state == HN_CANDIDATE_ESTIMATED || candidate->state == HN_CANDIDATE_TIMED;
}

bool hn_candidate_waits(const hn_choices *choices, const hn_choice *choice, const hn_candidate *candidate) {
  if (choices->devices[candidate->device]->facts.host_memory == choice->on_host) return false;
  for (int k = 0; k < choice->candidate_count; ++k)
    if (hn_candidate_usable(&choice->candidates[k]) &&
        !(choice->widened && hn_candidate_is_narrow(&choice->candidates[k])) && /* those may not run then */
        choices->devices[choice->candidates[k].device]->facts.host_memory == choice->on_host)
      return true;
  return false;
}

void hn_candidate_query(const hn_choices *choices, const hn_choice *choice, const hn_candidate *candidate,
                        hone_fact *in, hone_fact *out, hone_query *query) {
  const hn_node *node = choice->node;
  uint32_t mask = 0;
  for (int i = 0; i < node->in_count; ++i) {
    in[i] = choice->in[i];
    if (in[i].constant) mask |= hn_mask_bit(i);
  }
  memcpy(out, choice->out, (size_t)node->out_count * sizeof *out);
  hn_query_apply_storages(node->op, &candidate->storages, in, node->in_count, out, node->out_count);
  *query = (hone_query){.tactic = candidate->tactic,
                        .op = node->op,
                        .attrs = &node->attrs,
                        .in_count = node->in_count,
                        .out_count = node->out_count,
                        .in = in,
                        .out = out,
                        .constant_mask = mask,
                        .facts = &choices->devices[candidate->device]->facts,
                        .params = &candidate->params};
}

typedef struct asking {
  hn_choices *choices;
  const hone_build_options *options;
  hn_choice *choice;
  hone_fact *in, *out; /* room */
  bool is_wanted;
  hn_tactic_override wanted; /* all that is allowed for this node */
  hone_layer_type types;     /* that are asked for it by name; none: HONE_NONE */
} asking;

static bool is_narrow(const hn_candidate *candidate) {
  return candidate->storages.in >= HONE_FORMAT_COUNT || candidate->storages.out >= HONE_FORMAT_COUNT;
}

static hn_candidate *add(asking *a, const hn_candidate *candidate) {
  hn_choice *choice = a->choice;
  if (!hn_arena_grow(&a->choices->arena, (void **)&choice->candidates, &choice->candidate_capacity,
                     choice->candidate_count + 1, sizeof *choice->candidates))
    return NULL;
  choice->candidates[choice->candidate_count] = *candidate;
  if (is_narrow(candidate) && hn_candidate_usable(candidate))
    a->choices->narrow |= 1U << candidate->storages.in | 1U << candidate->storages.out;
  return &choice->candidates[choice->candidate_count++];
}

/* The facts at another corner of the profile. */
static bool move_facts(const hn_choices *choices, hn_value *const *values, int count, const int64_t *symbols,
                       hone_fact *facts) {
  for (int i = 0; i < count; ++i)
    if (values[i] && !hn_shape_eval(&choices->graph->dims, &values[i]->fact.type.shape, symbols,
                                    choices->graph->dims.symbol_count, &facts[i].type.shape))
      return false;
  return true;
}

/* Accepted at opt, and with a range of shapes at both ends of it too. */
static const char *ask(asking *a, const hn_candidate *candidate) {
  const hn_node *node = a->choice->node;
  hone_query query;
  hn_candidate_query(a->choices, a->choice, candidate, a->in, a->out, &query);
  query.params = NULL;
  hone_needs needs;
  HN_TRY_REASON(hn_tactic_plan(&query, NULL, &needs));
  const int64_t *corners[2] = {a->choices->min_symbols, a->choices->max_symbols};
  for (int c = 0; c < 2 && !a->choice->data_dependent; ++c) {
    if (!move_facts(a->choices, node->in, node->in_count, corners[c], a->in) ||
        !move_facts(a->choices, node->out, node->out_count, corners[c], a->out))
      return "its extents cannot be computed at the ends of the profile";
    HN_TRY_REASON(hn_tactic_plan(&query, NULL, &needs));
  }
  return NULL;
}

static const char *decline(const asking *a, const hone_tactic *tactic, const hone_device *device) {
  const bool reference = tactic->flags & HONE_TACTIC_REFERENCE;
  if (a->options->reference_only && !reference) return "only the reference was allowed";
  if ((tactic->isa & device->facts.isa) != tactic->isa) return "this machine lacks the instruction set";
  if (!hn_source_allowed(a->options, device, tactic)) return "its tactic source was left out";
  if (a->is_wanted && !hn_tactic_override_names(&a->wanted, tactic->name)) return "another tactic was requested";
  if (!a->choice->data_dependent && (tactic->flags & HONE_TACTIC_DATA_DEPENDENT))
    return "its shape is not data-dependent";
  if (a->choice->data_dependent && !reference && !(tactic->flags & HONE_TACTIC_DATA_DEPENDENT))
    return "its shape is data-dependent";
  return NULL;
}

/* Types that the caller must allow. */
static const char *decline_precision(const asking *a, const hone_tactic *tactic, const hone_storage_pair *pair) {
  const uint32_t by_name = (a->types.compute != HONE_NONE ? HONE_BIT(a->types.compute) : 0) |
                           (a->types.output != HONE_NONE ? HONE_BIT(a->types.output) : 0);
  switch (hn_tactic_narrows(tactic, pair, a->options->precisions | by_name)) {
  case HONE_NONE: return NULL;
  case HONE_F16: return "f16 was not allowed";
  case HONE_BF16: return "bf16 was not allowed";
  case HONE_TF32: return "tf32 was not allowed";
  default: return "its type was not allowed";
  }
}

/* Declined for the type asked for alone. What is not narrow is withheld: the outputs' error is measured from it. */
static void withhold(const asking *a, hn_candidate *candidate) {
  const char *reason =
      a->types.node ? hn_layer_type_decline(&a->types, a->choice, candidate->tactic, &candidate->storages) : NULL;
  if (!reason || candidate->state != HN_CANDIDATE_ESTIMATED) return;
  candidate->state = hn_candidate_is_narrow(candidate) ? HN_CANDIDATE_REJECTED : HN_CANDIDATE_WITHHELD;
  candidate->reason = reason;
}

typedef struct isa_row {
  uint32_t bit;
  double f32, own; /* device/isa.inc */
  hone_roof roof;
} isa_row;

static const isa_row isa_rows[] = {
#define HN_ISA(suffix, name, f32, own, type, flags, features) {HONE_ISA_##name, f32, own, HONE_ROOF_##type},
#include "device/isa.inc"
#undef HN_ISA
};

static const isa_row *isa_of(const hone_tactic *tactic) {
  size_t at = 0; /* portable C */
  for (size_t i = 0; i < HN_COUNT(isa_rows); ++i)
    if (tactic->isa & isa_rows[i].bit) at = i;
  return &isa_rows[at];
}

/* What a tactic multiplies in: one may be compiled for halves' conversions alone. */
static hone_roof roof_of(const hone_tactic *tactic) {
  const hone_roof roof = isa_of(tactic)->roof;
  const bool narrow = roof == HONE_ROOF_BF16 || roof == HONE_ROOF_F16;
  return narrow && tactic->compute == HONE_NONE ? HONE_ROOF_F32 : roof;
}

/* Of a device with memory of its own: its bits say what is there, not how wide it is. */
static double unit_peak(const hone_facts *facts, hone_dtype compute, bool of_bytes, double f32) {
  const hone_roof roof = HN_TYPES_NARROW & HONE_BIT(compute) ? hn_roof_of_type(compute)
                         : compute == HONE_NONE && of_bytes  ? HONE_ROOF_INT8
                                                             : HONE_ROOF_F32;
  return facts->roofs[roof] > 0 ? facts->roofs[roof] : f32;
}

/* Operations a second that a tactic of this instruction set can reach at most; of_bytes: it multiplies bytes; f32:
 * the device's in f32. A type's roof is that of the fastest set that is there for it. */
static double isa_peak(const hone_device *device, const hone_tactic *tactic, bool of_bytes, double f32) {
  const hone_facts *facts = &device->facts;
  const hone_roof roof = roof_of(tactic);
  const double measured = roof == HONE_ROOF_F32 ? 0 : facts->roofs[roof];
  double best = 1;
  if (!facts->host_memory) return unit_peak(facts, tactic->compute, of_bytes, f32);
  for (size_t i = 0; i < HN_COUNT(isa_rows) && measured > 0; ++i)
    if (isa_rows[i].roof == roof && (isa_rows[i].bit & facts->isa) == isa_rows[i].bit)
      best = fmax(best, isa_rows[i].own);
  if (measured > 0) return measured * isa_of(tactic)->own / best;
  for (const hone_tactic *const *row = device->tactics; *row; ++row)
    if (((*row)->isa & facts->isa) == (*row)->isa) best = fmax(best, isa_of(*row)->f32);
  return f32 * isa_of(tactic)->own / best;
}

/* Its first input is of bytes, or its weights are. */
static bool multiplies_bytes(const hn_choice *choice) {
  const hn_node *node = choice->node;
  for (int i = 0; i < node->in_count; ++i) {
    const hone_dtype dtype = choice->in[i].type.dtype;
    if ((dtype == HONE_U8 || dtype == HONE_I8) && (i == 0 || hn_port_is_param(node->op, i))) return true;
  }
  return false;
}

/* Bytes that packed weights have more than what the op's cost counts. */
static double packed_more(const hn_choice *choice, const hn_candidate *candidate) {
  double given = 0;
  for (int i = 0; i < choice->node->in_count && i < 32; ++i)
    if (hn_mask_has(candidate->tactic->pack_mask, i) && choice->in[i].constant)
      given += (double)hn_bytes(&choice->in[i].type);
  return fmax(0, (double)candidate->packed_bytes - given);
}

/* Two numbers by the roofline (Williams, Waterman and Patterson 2009): what cannot be undercut, with caches eight times
 * as fast as main memory; and what is to be expected, with what the tactic's row says of its share of the peak.
 * Computing and moving overlap, but not quite: the lesser of the two adds a quarter, which also tells apart what is
 * bound by memory alone. */
static void estimate(const hn_choices *choices, const hn_choice *choice, const hone_cost *cost, double reached,
                     hn_candidate *candidate) {
  const hone_device *device = choices->devices[candidate->device];
  const hone_facts *facts = &device->facts;
  const hone_tactic *tactic = candidate->tactic;
  const double moved = cost->bytes_read + cost->bytes_written;
  if (tactic->flags & HONE_TACTIC_REFERENCE) { /* one element at a time, in double */
    candidate->floor_ns = 0;
    candidate->estimate_ns = choice->node->op->traits & HONE_FAILS ? 1 : 1e6 + 20 * (cost->flops + moved);
    return;
  }
  const double threads = facts->threads > 0 ? facts->threads : 1;
  const double flops = facts->roofs[HONE_ROOF_F32] > 0 ? facts->roofs[HONE_ROOF_F32] : 150e9 * threads;
  const double bytes = facts->roofs[HONE_ROOF_MEMORY] > 0 ? facts->roofs[HONE_ROOF_MEMORY] : 15e9 * threads;
  const double efficiency = reached > 0 ? reached : 0.6;
  const double compute = cost->flops / isa_peak(device, tactic, multiplies_bytes(choice), flops) * 1e9;
  const double saved = reached > 0 ? fmax(1.1, 2 * efficiency) : 4; /* it may need fewer operations */
  candidate->floor_ns = tactic->overlay ? 0 : fmax(compute / saved, moved / (8 * bytes) * 1e9); /* may move nothing */
  const double expected = compute / efficiency, moves = (moved + packed_more(choice, candidate)) / (2 * bytes) * 1e9;
  candidate->estimate_ns = tactic->overlay ? 500 : 500 + fmax(expected, moves) + 0.25 * fmin(expected, moves);
}

static hone_status ask_variants(asking *a, hn_candidate *candidate) {
  const hone_tactic *tactic = candidate->tactic;
  hone_params rows[HN_MAX_VARIANTS] = {0};
  hone_query query;
  hone_needs needs;
  hn_candidate_query(a->choices, a->choice, candidate, a->in, a->out, &query);
  query.params = NULL;
  const int count = tactic->variants ? tactic->variants(&query, rows, HN_MAX_VARIANTS) : 1;
  hone_cost cost = a->choice->cost;
  if (is_narrow(candidate) && query.op->cost) /* fewer bytes */
    cost = query.op->cost(query.attrs, query.in, query.in_count, query.out, query.out_count);
  const int64_t limit = a->options->scratch_limit_bytes > 0 ? a->options->scratch_limit_bytes : (int64_t)1 << 30;
  for (int v = 0; v < count; ++v) {
    candidate->params = rows[v];
    query.params = &candidate->params;
    candidate->reason = hn_tactic_plan(&query, NULL, &needs);
    candidate->scratch_bytes = a->choice->data_dependent ? 0 : needs.scratch;
    candidate->packed_bytes = needs.packed;
    candidate->state = candidate->reason ? HN_CANDIDATE_REJECTED : HN_CANDIDATE_ESTIMATED;
    if (!candidate->reason && (int64_t)candidate->scratch_bytes > limit) {
      candidate->state = HN_CANDIDATE_REJECTED;
      candidate->reason = "it needs more scratch memory than is allowed";
    }
    if (!candidate->reason && a->is_wanted && !hn_tactic_override_allows(&a->wanted, &candidate->params)) {
      candidate->state = HN_CANDIDATE_REJECTED;
      candidate->reason = "other parameters were requested";
    }
    withhold(a, candidate);
    estimate(a->choices, a->choice, &cost, needs.efficiency, candidate);
    if (!add(a, candidate)) return HN_FAIL_MEMORY(&a->choices->context->diag);
  }
  return HONE_OK;
}

/* A pair gives the ports here the storages that an earlier one gives them, since some take no other. */
static bool repeats_pair(const asking *a, const hone_tactic *tactic, int f) {
  const hn_node *node = a->choice->node;
  for (int g = 0; g < f; ++g) {
    bool same = true;
    for (int i = 0; same && i < node->in_count; ++i)
      same = hn_port_storage(node->op, i, &a->choice->in[i].type, &tactic->storages[f]) ==
             hn_port_storage(node->op, i, &a->choice->in[i].type, &tactic->storages[g]);
    for (int i = 0; same && i < node->out_count; ++i)
      same = hn_storage_fit(&a->choice->out[i].type, tactic->storages[f].out) ==
             hn_storage_fit(&a->choice->out[i].type, tactic->storages[g].out);
    if (same) return true;
  }
  return false;
}

static const char *decline_border(const hn_choice *choice, const hone_device *device, const hone_storage_pair *pair) {
  if (!choice->nested && !choice->crosses_in && !choice->crosses_out) return NULL;
  if (!device->facts.host_memory) return "it touches a branch or a loop, which runs on the host";
  if ((choice->crosses_in && pair->in != HONE_PLAIN) || (choice->crosses_out && pair->out != HONE_PLAIN))
    return "it touches the border of a branch or a loop, where everything is plain";
  return NULL;
}

static hone_status ask_tactic(asking *a, int d, const hone_tactic *tactic) {
  const hone_device *device = a->choices->devices[d];
  const hone_dtype out_dtype = a->choice->node->out_count ? a->choice->out[0].type.dtype : HONE_NONE;
  for (int f = 0; f < HONE_MAX_STORAGE_PAIRS; ++f) {
    if (f > 0 && tactic->storages[f].in == HONE_PLAIN && tactic->storages[f].out == HONE_PLAIN) break;
    if (repeats_pair(a, tactic, f)) continue;
    hn_candidate candidate = {
        .tactic = tactic,
        .provider = device->backend->name,
        .device = d,
        .storages = hn_storages_taken(a->choice->node->op, &tactic->storages[f], a->choice->in,
                                      a->choice->node->in_count, a->choice->out, a->choice->node->out_count),
        .error_rel_l2 = -1,
        .error_bound = hn_tactic_bound(
            tactic, out_dtype,
            hn_storage_coarser(hn_storage_dtype(tactic->storages[f].in), hn_storage_dtype(tactic->storages[f].out)))};
    candidate.reason = decline(a, tactic, device);
    if (!candidate.reason) candidate.reason = decline_precision(a, tactic, &candidate.storages);
    if (!candidate.reason) candidate.reason = decline_border(a->choice, device, &candidate.storages);
    if (!candidate.reason) candidate.reason = ask(a, &candidate);
    if (candidate.reason) {
      candidate.state = HN_CANDIDATE_REJECTED;
      if (!add(a, &candidate)) return HN_FAIL_MEMORY(&a->choices->context->diag);
    } else {
      HN_TRY(ask_variants(a, &candidate));
    }
  }
  return HONE_OK;
}

static bool any_usable(const hn_choice *choice) {
  for (int c = 0; c < choice->candidate_count; ++c)
    if (hn_candidate_usable(&choice->candidates[c])) return true;
  return false;
}

/* All that no tactic accepts are reported, not the first. */
static hone_status report_missing(hn_choices *choices, const hn_choice *choice) {
  if (any_usable(choice) || choice->split) return HONE_OK;
  hn_text reasons;
  hn_text_init(&reasons, choices->context->allocator);
  int named = 0;
  for (int withheld = 1; withheld >= 0; --withheld) /* those that lack nothing but the type asked for first */
    for (int c = 0; c < choice->candidate_count && named < 6; ++c) {
      const hn_candidate *candidate = &choice->candidates[c], *before = c ? candidate - 1 : NULL;
      const bool again = before && before->tactic == candidate->tactic && before->reason == candidate->reason;
      if ((candidate->state == HN_CANDIDATE_WITHHELD) != withheld || again) continue;
      hn_text_printf(&reasons, "\n  %s: %s", candidate->tactic->name, candidate->reason);
      ++named;
    }
  const hone_status status = HN_FAIL(&choices->context->diag, HONE_UNSUPPORTED, "node %s (%s): no tactic accepts it%s",
                                     choice->node->name, choice->node->op->name, hn_text_string(&reasons));
  hn_text_deinit(&reasons);
  return status;
}

static hone_status ask_all(asking *a) {
  hn_choices *choices = a->choices;
  for (int d = 0; d < choices->device_count; ++d)
    for (const hone_tactic *const *row = choices->devices[d]->tactics; *row; ++row)
      if (hn_tactic_covers(*row, a->choice->node->op)) HN_TRY(ask_tactic(a, d, *row));
  return HONE_OK;
}

/* The types asked for. Where no tactic has them, a fused node gives way to its parts, which may; of one without parts
 * any tactic runs, if they are only preferred. */
static hone_status ask_types(asking *a) {
  HN_TRY(ask_all(a));
  if (!a->types.node || any_usable(a->choice)) return HONE_OK;
  a->choice->split = !a->types.preferred && !a->choices->outer && hn_node_can_split(a->choice->node);
  if (a->choice->split) a->choice->why = "no tactic of the fused node has the type asked for";
  if (a->choice->split || !a->types.preferred) return HONE_OK;
  hn_log(a->choices->context, HONE_LOG_WARN, "node %s (%s): no tactic has the types preferred for it; any other runs",
         a->choice->node->name, a->choice->node->op->name);
  a->types = (hone_layer_type){0};
  a->choice->candidate_count = 0;
  return ask_all(a);
}

hone_status hn_tune_ask(hn_choices *choices, hn_choice *choice, bool by_options) {
  asking a = {.choices = choices, .options = choices->tuning->options, .choice = choice};
  const hn_node *node = choice->node;
  hn_layer_type_find(a.options, choices->outer ? choices->outer->node : node, &a.types);
  a.is_wanted = by_options && hn_tactic_override_find(a.options, node->name, &a.wanted);
  a.in = HN_NEW(&choices->arena, hone_fact, node->in_count + 1);
  a.out = HN_NEW(&choices->arena, hone_fact, node->out_count + 1);
  if (!a.in || !a.out) return HN_FAIL_MEMORY(&choices->context->diag);
  HN_TRY(ask_types(&a));
  if (!a.is_wanted || !a.wanted.glob || any_usable(choice)) return HONE_OK;
  a.is_wanted = false; /* a glob over nodes means those that can */
  choice->candidate_count = 0;
  return ask_types(&a);
}

hone_status hn_tune_enumerate(hn_choices *choices) {
  hone_status status = HONE_OK;
  HN_TRY(hn_sources_check(choices, choices->tuning->options));
  for (int i = 0; i < choices->count; ++i) {
    if (!hn_choice_runs(&choices->items[i])) continue;
    HN_TRY(hn_tune_ask(choices, &choices->items[i], true));
  }
  HN_TRY(hn_tactic_overrides_check(choices, choices->tuning->options));
  for (int i = 0; i < choices->count; ++i) {
    if (!hn_choice_runs(&choices->items[i])) continue;
    const hone_status one = report_missing(choices, &choices->items[i]);
    if (one != HONE_OK) status = one;
  }
  return status == HONE_OK ? hn_tune_place_on_host(choices) : status;
}
