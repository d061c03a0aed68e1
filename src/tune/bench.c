/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - one node on the bench: seeded inputs in every format that is asked for, reference values of 4,096 sampled
 * elements (first, last and random runs, so that borders and tile remainders are among them), candidates made ready.
 *
 * Timed launches take turns on several copies of the packed weights, as many as overflow the inner cache: in a network
 * whose tensors do not all fit, the other layers have pushed them out by the time a layer runs again. Activations reuse
 * the arena's memory: inputs stay in place, since the layer before has just written them, and outputs take turns on two
 * places. */
#include "base/pool.h"
#include "ops/ports.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tune/draw.h"
#include "tune/guard.h"
#include "tune/tuning.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ready {
  hn_candidate *candidate;
  hn_prepared prepared;
  hone_launch launch;      /* in the host's memory */
  hn_staged_launch staged; /* the same where a device with memory of its own reads it */
  hone_tensor *out;        /* the launch's, whose data take turns */
  hone_stream *stream;
  hone_replay *replay; /* of `recorded` launches, where the device replays */
  int recorded;
  void *packed, *scratch;
  size_t packed_bytes, packed_stride, scratch_bytes;
  bool packed_before; /* the candidate's own: not to be freed here */
  int turn, packed_turns;
  bool overlaid; /* inputs and outputs lie in each other, as the memory plan will lay them */
} ready;

/* The memory that an output is written to, by candidates of one storage in turns. */
typedef struct turns {
  char *data;
  size_t stride;
  int count;
} turns;

enum { MOST_TURNS = 1024 };

struct hn_bench {
  hn_choices *choices;
  const hn_choice *choice;
  hn_arena arena;
  hone_tensor *in;                           /* as the graph has them */
  hone_tensor (*stored)[HONE_STORAGE_COUNT]; /* the same in other storages, made on demand */
  hone_tensor *want, *got;                   /* outputs as the graph has them: reference and candidate */
  turns (*outputs)[HONE_STORAGE_COUNT];      /* made on demand */
  bool reference;                            /* errors are measured */
  double sensitivity;                        /* -1: not measured yet */
  ready slots[HN_BENCH_SLOTS];
};

static hone_status no_memory(const hn_bench *bench) { return HN_FAIL_MEMORY(&bench->choices->context->diag); }

/* Drawing takes longer than everything else that is done to a large tensor: behind the first ones, numbers come again.
 */
static hone_status fill(hn_bench *bench, hone_tensor *tensor, const hone_fact *fact, hn_random *random) {
  enum { AT_ONCE = 1 << 20, DRAWN = 12 * AT_ONCE + 7 }; /* no two images of usual extents are alike */
  const int64_t count = hn_elems(&tensor->type.shape);
  const hone_dtype dtype = tensor->type.dtype;
  const size_t size = hone_dtype_bits(dtype) / 8;
  const hone_dtype made = bench->choice->node->out_count ? bench->choice->out[0].type.dtype : HONE_NONE;
  const bool is_short = made == HONE_U8 || made == HONE_I8;
  const bool repeats = (dtype == HONE_F32 || dtype == HONE_U8 || dtype == HONE_I8) && !fact->value;
  for (int64_t first = 0, end; first < count; first = end) {
    const bool drawn = first < DRAWN || !repeats;
    end = first + AT_ONCE < count ? first + AT_ONCE : count;
    if (first < DRAWN && end > DRAWN) end = DRAWN;
    if (drawn)
      hn_draw(tensor, first, end, fact, is_short, random);
    else
      memcpy((char *)tensor->data + (size_t)first * size, (char *)tensor->data + (size_t)(first - DRAWN) * size,
             (size_t)(end - first) * size);
    HN_TRY(hn_check_stop(bench->choices->context));
  }
  return HONE_OK;
}

/* ---- large blocks ---- */

static void drop_block(hn_tuning *tuning, hn_kept_block *block) {
  hn_free(&tuning->context->allocator, block->data, block->bytes);
  tuning->kept_bytes -= block->bytes;
  *block = (hn_kept_block){0};
}

void hn_tuning_forget_blocks(hn_tuning *tuning) {
  for (int i = 0; i < HN_KEPT_BLOCKS; ++i)
    if (tuning->kept[i].data && !tuning->kept[i].user) drop_block(tuning, &tuning->kept[i]);
}

/* The least unused one that has room; NULL: there is none. */
static hn_kept_block *find_block(hn_tuning *tuning, size_t bytes) {
  hn_kept_block *best = NULL;
  for (int i = 0; i < HN_KEPT_BLOCKS; ++i) {
    hn_kept_block *block = &tuning->kept[i];
    if (block->data && !block->user && block->bytes >= bytes && (!best || block->bytes < best->bytes)) best = block;
  }
  return best;
}

static hn_kept_block *new_block(hn_tuning *tuning, size_t bytes) {
  hn_kept_block *empty = NULL;
  if (tuning->kept_bytes + bytes > tuning->kept_most) hn_tuning_forget_blocks(tuning);
  for (int i = 0; i < HN_KEPT_BLOCKS && !empty; ++i)
    if (!tuning->kept[i].data) empty = &tuning->kept[i];
  if (!empty) return NULL;
  empty->data = hn_alloc(&tuning->context->allocator, bytes);
  if (!empty->data) return NULL;
  empty->bytes = bytes;
  tuning->kept_bytes += bytes;
  return empty;
}

/* Memory until the bench is closed, aligned to 64; NULL without. Where memory is limited nothing is kept. */
static void *take_memory(hn_bench *bench, size_t bytes) {
  static const size_t large = (size_t)4 << 20;
  hn_tuning *tuning = bench->choices->tuning;
  if (bytes < large || hn_memory_limit_of(&tuning->context->allocator)) return hn_arena_alloc(&bench->arena, bytes, 64);
  hn_kept_block *block = find_block(tuning, bytes);
  if (!block) block = new_block(tuning, bytes);
  if (!block) return hn_arena_alloc(&bench->arena, bytes, 64);
  block->user = bench;
  size_t used = 0;
  for (int i = 0; i < HN_KEPT_BLOCKS; ++i) used += tuning->kept[i].user ? tuning->kept[i].bytes : 0;
  if (used > tuning->kept_most) tuning->kept_most = used;
  return block->data;
}

static void give_memory_back(const hn_bench *bench) {
  hn_tuning *tuning = bench->choices->tuning;
  for (int i = 0; i < HN_KEPT_BLOCKS; ++i)
    if (tuning->kept[i].user == bench) tuning->kept[i].user = NULL;
}

/* ---- tensors ---- */

static hone_status new_room(hn_bench *bench, const hone_type *type, hone_tensor *out) {
  *out = (hone_tensor){.type = *type};
  if (!hn_type_bytes(type, &out->bytes)) return no_memory(bench);
  out->data = take_memory(bench, out->bytes + 64);
  return out->data ? HONE_OK : no_memory(bench);
}

/* Everything but what lies behind the last element is about to be written. */
static hone_status new_tensor(hn_bench *bench, const hone_type *type, hone_tensor *out) {
  HN_TRY(new_room(bench, type, out));
  const bool whole = type->dtype != HONE_STRING && hone_dtype_bits(type->dtype) >= 8; /* else bits are left */
  memset((char *)out->data + (whole ? out->bytes : 0), 0, whole ? 64 : out->bytes + 64);
  return hn_check_stop(bench->choices->context);
}

static hone_status make_inputs(hn_bench *bench, uint64_t seed) {
  const hn_choice *choice = bench->choice;
  hn_random random = {.state = seed};
  for (int i = 0; i < choice->node->in_count; ++i) {
    const hone_fact *fact = &choice->in[i];
    if (fact->type.kind == HONE_ABSENT) continue;
    if (fact->constant) {
      bench->in[i] = *fact->constant;
    } else {
      HN_TRY(new_tensor(bench, &fact->type, &bench->in[i]));
      HN_TRY(fill(bench, &bench->in[i], fact, &random));
      const hone_port *port = hn_port_at(choice->node->op->in, i);
      if (port && port->flags & HONE_PORT_LENGTHS && !fact->value)
        hn_draw_lengths(&bench->in[i], &choice->in[0].type.shape);
    }
    bench->stored[i][HONE_PLAIN] = bench->in[i];
  }
  return HONE_OK;
}

static hone_status evaluate_samples(hn_bench *bench, hone_eval *eval, size_t scratch_step) {
  hn_stop *stop = &bench->choices->context->stop;
  if (eval->op->traits & HONE_WHOLE) return hn_evaluate(eval, NULL, stop);
  const hn_pool *pool = hn_devices_pool(bench->choices->devices, bench->choices->device_count);
  for (int o = 0; o < eval->out_count; ++o) {
    const int64_t count = bench->want[o].data ? hn_elems(&bench->want[o].type.shape) : 0;
    hone_window windows[HN_SAMPLED_RUNS];
    if (count)
      HN_TRY(hn_evaluate_windows(eval, scratch_step, windows, hn_sampled_windows(count, o, windows), pool, stop));
  }
  return HONE_OK;
}

static size_t threads_of(const hn_bench *bench) {
  return (size_t)hn_pool_threads(hn_devices_pool(bench->choices->devices, bench->choices->device_count));
}

/* From one thread's scratch to the next's, where windows may have their own and the operator is ours; else 0. */
static size_t scratch_of_a_thread(const hn_bench *bench, size_t scratch_bytes) {
  const size_t most_bytes = (size_t)512 << 20, step = (scratch_bytes + 63) / 64 * 64;
  const hone_op *op = bench->choice->node->op;
  if (!(op->traits & HN_WINDOWS_INDEPENDENT) || hn_plugin_of_op(bench->choices->context, op)) return 0;
  return step * threads_of(bench) <= most_bytes ? step : 0;
}

/* The sampled elements of the node's outputs by its operator's definition. */
static hone_status evaluate_node(hn_bench *bench, const hone_tensor *in, hone_tensor *out) {
  const hn_choice *choice = bench->choice;
  const hn_node *node = choice->node;
  size_t scratch_bytes = 0;
  if (node->op->eval_scratch)
    scratch_bytes = node->op->eval_scratch(&node->attrs, choice->in, node->in_count, choice->out, node->out_count);
  const size_t scratch_step = scratch_of_a_thread(bench, scratch_bytes);
  hone_eval eval = {.op = node->op,
                    .attrs = &node->attrs,
                    .in_count = node->in_count,
                    .out_count = node->out_count,
                    .in = in,
                    .out = out,
                    .scratch =
                        hn_arena_alloc(&bench->arena, scratch_bytes + 64 + scratch_step * (threads_of(bench) - 1), 64),
                    .diagnostics = &bench->choices->context->diag};
  if (!eval.scratch) return no_memory(bench);
  const hn_guarded guarded = {.context = bench->choices->context,
                              .node = node,
                              .plugin = hn_plugin_of_op(bench->choices->context, node->op),
                              .kind = "eval of operator",
                              .name = node->op->name};
  if (guarded.plugin) hn_guards_set(&guarded, out, eval.scratch, scratch_bytes);
  HN_TRY(evaluate_samples(bench, &eval, scratch_step));
  return guarded.plugin ? hn_guards_check(&guarded, out, eval.scratch, scratch_bytes) : HONE_OK;
}

static hone_status make_reference(hn_bench *bench, bool reference) {
  const hn_choice *choice = bench->choice;
  for (int o = 0; o < choice->node->out_count; ++o) {
    if (choice->out[o].type.kind == HONE_ABSENT || !choice->node->out[o]) continue;
    HN_TRY(new_room(bench, &choice->out[o].type, &bench->want[o])); /* only what is compared is ever written */
    HN_TRY(new_room(bench, &choice->out[o].type, &bench->got[o]));
  }
  bench->reference = reference;
  bench->sensitivity = -1;
  return reference ? evaluate_node(bench, bench->in, bench->want) : HONE_OK;
}

hone_status hn_bench_open(hn_choices *choices, const hn_choice *choice, uint64_t seed, bool reference, hn_bench **out) {
  *out = NULL;
  const hn_allocator *allocator = &choices->context->allocator;
  hn_bench *bench = hn_alloc_zero(allocator, sizeof *bench);
  if (!bench) return HN_FAIL_MEMORY(&choices->context->diag);
  bench->choices = choices;
  bench->choice = choice;
  hn_arena_init(&bench->arena, *allocator);
  const int in_count = choice->node->in_count + 1, out_count = choice->node->out_count + 1;
  bench->in = HN_NEW(&bench->arena, hone_tensor, in_count);
  bench->stored = (hone_tensor(*)[HONE_STORAGE_COUNT])HN_NEW(&bench->arena, hone_tensor, in_count * HONE_STORAGE_COUNT);
  bench->want = HN_NEW(&bench->arena, hone_tensor, out_count);
  bench->got = HN_NEW(&bench->arena, hone_tensor, out_count);
  bench->outputs = (turns(*)[HONE_STORAGE_COUNT])HN_NEW(&bench->arena, turns, out_count * HONE_STORAGE_COUNT);
  hone_status status =
      bench->in && bench->stored && bench->want && bench->got && bench->outputs ? HONE_OK : no_memory(bench);
  if (status == HONE_OK) status = make_inputs(bench, seed);
  if (status == HONE_OK) status = make_reference(bench, reference);
  if (status != HONE_OK) {
    hn_bench_close(bench);
    return hone_note(&choices->context->diag, status, "while measuring node %s (%s)", choice->node->name,
                     choice->node->op->name);
  }
  *out = bench;
  return HONE_OK;
}

static hone_device *device_of(const hn_bench *bench, const hn_candidate *candidate) {
  return bench->choices->devices[candidate->device];
}

static void drop_slot(hn_bench *bench, ready *slot) {
  if (!slot->candidate) return;
  hn_replay_forget(device_of(bench, slot->candidate), slot->replay);
  hn_staged_launch_close(&slot->staged);
  hn_stream_close(device_of(bench, slot->candidate), slot->stream);
  hn_unprepare(&slot->prepared);
  if (!slot->packed_before) hn_free(&bench->choices->context->allocator, slot->packed, slot->packed_bytes);
  hn_free(&bench->choices->context->allocator, slot->scratch, slot->scratch_bytes);
  *slot = (ready){0};
}

void hn_bench_close(hn_bench *bench) {
  if (!bench) return;
  const hn_allocator allocator = bench->choices->context->allocator;
  for (int s = 0; s < HN_BENCH_SLOTS; ++s) drop_slot(bench, &bench->slots[s]);
  give_memory_back(bench);
  hn_arena_deinit(&bench->arena);
  hn_free(&allocator, bench, sizeof *bench);
}

/* The input in the storage that the candidate wants. */
static hone_status stored_input(hn_bench *bench, int i, hone_storage storage, hone_tensor *out) {
  hone_tensor *slot = &bench->stored[i][storage];
  if (!slot->data) {
    const hone_type type = hn_stored_type(&bench->in[i].type, storage);
    HN_TRY(new_tensor(bench, &type, slot));
    if (!hn_layout_convert(&bench->in[i], slot))
      return HN_FAIL(&bench->choices->context->diag, HONE_INTERNAL, "input %d cannot be stored as %s", i,
                     hn_storage_name(storage));
  }
  *out = *slot;
  return HONE_OK;
}

/* How many copies of so many bytes overflow the inner cache. */
static int turn_count(const hn_bench *bench, size_t stride) {
  const size_t target = bench->choices->cold_bytes;
  if (stride == 0 || stride >= target) return 1;
  const size_t count = (target + stride - 1) / stride;
  return count > MOST_TURNS ? MOST_TURNS : (int)count;
}

/* The storage of an output under the candidate's pair. */
static hone_storage written_in(const hn_bench *bench, const ready *slot, int o) {
  return hn_storage_fit(&bench->choice->out[o].type, slot->candidate->storages.out);
}

static hone_status output_turns(hn_bench *bench, int o, hone_storage storage, const hone_type *type,
                                const turns **out) {
  turns *t = &bench->outputs[o][storage];
  *out = t;
  if (t->data) return HONE_OK;
  size_t bytes;
  if (!hn_type_bytes(type, &bytes)) return no_memory(bench);
  t->stride = (bytes + 64 + 63) / 64 * 64;
  t->count = turn_count(bench, t->stride) > 1 ? 2 : 1;
  t->data = take_memory(bench, t->stride * (size_t)t->count);
  if (!t->data) return no_memory(bench);
  (void)hn_stop_clear(&bench->choices->context->stop, t->data, t->stride * (size_t)t->count);
  return hn_check_stop(bench->choices->context);
}

static hone_status make_launch(hn_bench *bench, ready *slot, const hone_query *query) {
  const hn_node *node = bench->choice->node;
  hone_tensor *ports = HN_NEW(&bench->arena, hone_tensor, node->in_count + node->out_count + 1);
  if (!ports) return no_memory(bench);
  for (int i = 0; i < node->in_count; ++i) {
    if (query->in[i].type.kind == HONE_ABSENT) continue;
    const hone_storage storage = hn_port_storage(node->op, i, &bench->choice->in[i].type, &slot->candidate->storages);
    HN_TRY(stored_input(bench, i, storage, &ports[i]));
    if (hn_mask_has(slot->candidate->tactic->pack_mask, i) && query->in[i].constant) ports[i].data = NULL;
  }
  slot->out = ports + node->in_count;
  for (int o = 0; o < node->out_count; ++o) {
    if (!bench->want[o].data) continue;
    const turns *t;
    HN_TRY(output_turns(bench, o, written_in(bench, slot, o), &query->out[o].type, &t));
    slot->out[o] = (hone_tensor){.type = query->out[o].type, .data = t->data};
    (void)hn_type_bytes(&query->out[o].type, &slot->out[o].bytes);
  }
  slot->launch = (hone_launch){.in_count = node->in_count,
                               .out_count = node->out_count,
                               .in = ports,
                               .out = slot->out,
                               .packed = slot->packed,
                               .scratch = slot->scratch,
                               .diagnostics = &bench->choices->context->diag};
  return HONE_OK;
}

/* The next copies of weights and outputs. */
static void take_turn(hn_bench *bench, ready *slot) {
  ++slot->turn;
  if (slot->packed_turns > 1)
    slot->launch.packed = (char *)slot->packed + (size_t)(slot->turn % slot->packed_turns) * slot->packed_stride;
  for (int o = 0; o < slot->launch.out_count && !slot->overlaid; ++o) {
    if (!slot->out[o].data) continue;
    const turns *t = &bench->outputs[o][written_in(bench, slot, o)];
    slot->out[o].data = t->data + (size_t)(slot->turn % t->count) * t->stride;
  }
}

/* Every other real of an input goes to the next float up, the others to the next one down. */
static hone_status shaken_inputs(hn_bench *bench, hone_tensor *in) {
  for (int i = 0; i < bench->choice->node->in_count; ++i) {
    in[i] = bench->in[i];
    if (!in[i].data || bench->choice->in[i].constant || in[i].type.dtype != HONE_F32) continue;
    HN_TRY(new_room(bench, &bench->choice->in[i].type, &in[i]));
    const float *from = bench->in[i].data;
    for (int64_t k = 0; k < hn_elems(&in[i].type.shape); ++k)
      ((float *)in[i].data)[k] = nextafterf(from[k], k % 2 ? HUGE_VALF : -HUGE_VALF);
  }
  return HONE_OK;
}

hone_status hn_bench_sensitivity(hn_bench *bench, double *out) {
  const hn_node *node = bench->choice->node;
  *out = bench->sensitivity;
  if (bench->sensitivity >= 0) return HONE_OK;
  hone_tensor *in = HN_NEW(&bench->arena, hone_tensor, node->in_count + 1);
  hn_error_sum sum = {0};
  if (!in) return no_memory(bench);
  HN_TRY(shaken_inputs(bench, in));
  HN_TRY(evaluate_node(bench, in, bench->got));
  for (int o = 0; o < node->out_count; ++o) {
    const int64_t count = bench->want[o].data ? hn_elems(&bench->want[o].type.shape) : 0;
    for (int run = 0; count && run < hn_sampled_runs(count); ++run) {
      hone_window window = {.output = o};
      hn_sampled_run(count, run, &window);
      hn_error_add(&bench->got[o], &bench->want[o], &window, &sum);
    }
  }
  *out = bench->sensitivity = hn_error_of(&sum);
  return HONE_OK;
}

static hone_status measure_error(hn_bench *bench, ready *slot) {
  const hn_node *node = bench->choice->node;
  hn_error_sum sum = {0};
  for (int o = 0; o < node->out_count; ++o) {
    if (!bench->want[o].data) continue;
    const hone_tensor *made = &slot->launch.out[o];
    const bool is_plain = made->type.format == HONE_PLAIN;
    hone_tensor plain = is_plain ? *made : bench->got[o];
    const int64_t count = hn_elems(&plain.type.shape);
    for (int run = 0; count && run < hn_sampled_runs(count); ++run) {
      hone_window window = {.output = o};
      hn_sampled_run(count, run, &window);
      if (!is_plain && !hn_layout_convert_run(made, &plain, window.first, window.last)) return HONE_INTERNAL;
      hn_error_add(&plain, &bench->want[o], &window, &sum);
    }
  }
  slot->candidate->error_rel_l2 = hn_error_of(&sum);
  return HONE_OK;
}

static hn_guarded guarded_tactic(const hn_bench *bench, const ready *slot) {
  return (hn_guarded){.context = bench->choices->context,
                      .node = bench->choice->node,
                      .plugin = hn_plugin_of_tactic(bench->choices->context, slot->candidate->tactic),
                      .kind = "tactic",
                      .name = slot->candidate->tactic->name};
}

static hone_status make_weights(hn_bench *bench, ready *slot, const hone_query *query, bool timed) {
  const hn_allocator *allocator = &bench->choices->context->allocator;
  const size_t bytes = slot->candidate->packed_bytes;
  slot->packed_stride = (bytes + 63) / 64 * 64;
  slot->packed_before = !timed && slot->candidate->packed;
  if (slot->packed_before) {
    slot->packed = (void *)(uintptr_t)slot->candidate->packed; /* launches read it */
    slot->packed_turns = 1;
    return HONE_OK;
  }
  const bool rotates = timed && device_of(bench, slot->candidate)->facts.host_memory;
  slot->packed_turns = rotates ? turn_count(bench, slot->packed_stride) : 1;
  slot->packed_bytes = slot->packed_stride * (size_t)slot->packed_turns + 64;
  slot->packed = hn_alloc(allocator, slot->packed_bytes);
  if (!slot->packed) return no_memory(bench);
  hn_stop *stop = &bench->choices->context->stop;
  bool done = hn_stop_clear(stop, slot->packed, slot->packed_stride);
  const hn_guarded guarded = guarded_tactic(bench, slot);
  if (guarded.plugin) hn_guard_set((char *)slot->packed + bytes);
  if (done && bytes) HN_TRY(slot->candidate->tactic->pack(query, slot->packed));
  if (guarded.plugin) HN_TRY(hn_guard_check(&guarded, "packed weights", (char *)slot->packed + bytes, bytes));
  for (int k = 1; k < slot->packed_turns && done; ++k)
    done =
        hn_stop_copy(stop, (char *)slot->packed + (size_t)k * slot->packed_stride, slot->packed, slot->packed_stride);
  return hn_check_stop(bench->choices->context);
}

/* What the tactic gets. */
static const hone_launch *launch_of(const hn_bench *bench, const ready *slot) {
  return device_of(bench, slot->candidate)->facts.host_memory ? &slot->launch : &slot->staged.launch;
}

/* A join or split is timed as the memory plan of static shapes will lay it: parts that may lie in the whole do. */
static void overlay(const hn_bench *bench, ready *slot, const hone_query *query) {
  const hn_node *node = bench->choice->node;
  hone_tensor *in = slot->out - node->in_count;
  if (!slot->candidate->tactic->overlay || !device_of(bench, slot->candidate)->facts.host_memory) return;
  for (int i = 0; i < node->in_count; ++i)
    if (node->in[i] && !hn_shape_known(&node->in[i]->fact.type.shape)) return;
  for (int i = 0; i < node->in_count; ++i)
    for (int o = 0; o < node->out_count; ++o) {
      if (!in[i].data || !slot->out[o].data || query->in[i].constant) continue;
      const int64_t offset = slot->candidate->tactic->overlay(query, i, o);
      if (offset < 0 || offset % 64) continue;
      slot->overlaid = true;
      if (in[i].bytes <= slot->out[o].bytes)
        in[i].data = (char *)slot->out[o].data + offset;
      else
        slot->out[o].data = (char *)in[i].data + offset;
    }
}

static hone_status make_ready(hn_bench *bench, ready *slot, const hone_query *query, bool timed) {
  hn_choices *choices = bench->choices;
  hone_diagnostics *diag = &choices->context->diag;
  slot->scratch_bytes = slot->candidate->scratch_bytes + 64;
  slot->scratch = hn_alloc(&choices->context->allocator, slot->scratch_bytes);
  if (!slot->scratch) return no_memory(bench);
  HN_TRY(make_weights(bench, slot, query, timed));
  HN_TRY(make_launch(bench, slot, query));
  HN_TRY(hn_stream_open(device_of(bench, slot->candidate), 2, &slot->stream, diag));
  HN_TRY(hn_prepare(device_of(bench, slot->candidate), query, &slot->prepared, diag));
  HN_TRY(hn_staged_launch_open(device_of(bench, slot->candidate), slot->stream, &slot->launch,
                               slot->candidate->packed_bytes, slot->candidate->scratch_bytes, &slot->staged, diag));
  hn_stream_stops(device_of(bench, slot->candidate), slot->stream, &choices->context->stop);
  const hn_guarded guarded = guarded_tactic(bench, slot);
  const bool watched = guarded.plugin && device_of(bench, slot->candidate)->facts.host_memory;
  if (watched) hn_guards_set(&guarded, slot->out, slot->scratch, slot->candidate->scratch_bytes);
  HN_TRY(hn_launch(device_of(bench, slot->candidate), &slot->prepared, slot->stream, launch_of(bench, slot)));
  HN_TRY(hn_check_stop(choices->context));
  if (watched) HN_TRY(hn_guards_check(&guarded, slot->out, slot->scratch, slot->candidate->scratch_bytes));
  HN_TRY(hn_staged_launch_fetch(&slot->staged, diag));
  if (bench->reference) HN_TRY(measure_error(bench, slot));
  if (timed) overlay(bench, slot, query);
  return HONE_OK;
}

void hn_bench_drop(hn_bench *bench, int slot) { drop_slot(bench, &bench->slots[slot]); }

hone_status hn_bench_prepare(hn_bench *bench, hn_candidate *candidate, int slot_index, bool timed) {
  ready *slot = &bench->slots[slot_index];
  drop_slot(bench, slot);
  slot->candidate = candidate;
  hone_fact *facts =
      HN_NEW(&bench->arena, hone_fact, bench->choice->node->in_count + bench->choice->node->out_count + 1);
  if (!facts) return no_memory(bench);
  hone_query query;
  hn_candidate_query(bench->choices, bench->choice, candidate, facts, facts + bench->choice->node->in_count, &query);
  return make_ready(bench, slot, &query, timed);
}

/* A device is launched in a network as one replay: single launches would measure how fast the host gives them. */
static hone_status record_launches(hn_bench *bench, ready *slot, int count) {
  hone_device *device = device_of(bench, slot->candidate);
  hone_diagnostics *diag = &bench->choices->context->diag;
  hone_status status = hn_stream_record(device, slot->stream);
  if (status != HONE_OK) return HN_FAIL(diag, status, "device %s does not record", device->backend->name);
  for (int i = 0; i < count && status == HONE_OK; ++i)
    status = hn_launch(device, &slot->prepared, slot->stream, launch_of(bench, slot));
  const hone_status kept = hn_stream_keep(device, slot->stream, &slot->replay, diag); /* ends recording in any case */
  slot->recorded = count;
  return status == HONE_OK ? kept : status;
}

static bool records(const hn_bench *bench, const ready *slot) {
  const hone_device *device = device_of(bench, slot->candidate);
  return !device->facts.host_memory && hn_stream_records(device) &&
         (slot->candidate->tactic->flags & HONE_TACTIC_CAPTURABLE);
}

static hone_status time_replays(hn_bench *bench, ready *slot, int repeat, bool warm, double *out_elapsed_ns) {
  hone_device *device = device_of(bench, slot->candidate);
  if (!slot->replay) HN_TRY(record_launches(bench, slot, repeat < 8 ? 8 : repeat < 32 ? repeat : 32));
  const int replays = (repeat + slot->recorded - 1) / slot->recorded;
  for (int i = warm ? -1 : 0; i < replays; ++i) {
    if (i == 0) HN_TRY(hn_stream_mark(device, slot->stream, 0));
    HN_TRY(hn_stream_replay(device, slot->stream, slot->replay));
  }
  HN_TRY(hn_stream_mark(device, slot->stream, 1));
  HN_TRY(hn_stream_wait(device, slot->stream, &bench->choices->context->diag));
  HN_TRY(hn_stream_between(device, slot->stream, 0, 1, out_elapsed_ns));
  *out_elapsed_ns *= (double)repeat / ((double)replays * slot->recorded);
  return HONE_OK;
}

hone_status hn_bench_time(hn_bench *bench, int slot_index, int repeat, bool warm, double *out_elapsed_ns) {
  ready *slot = &bench->slots[slot_index];
  hone_device *device = device_of(bench, slot->candidate);
  if (repeat > 1 && records(bench, slot)) return time_replays(bench, slot, repeat, warm, out_elapsed_ns);
  for (int i = warm ? -1 : 0; i < repeat; ++i) {
    if (i == 0) HN_TRY(hn_stream_mark(device, slot->stream, 0));
    if (device->facts.host_memory) take_turn(bench, slot);
    HN_TRY(hn_launch(device, &slot->prepared, slot->stream, launch_of(bench, slot)));
  }
  HN_TRY(hn_stream_mark(device, slot->stream, 1));
  HN_TRY(hn_stream_wait(device, slot->stream, &bench->choices->context->diag));
  HN_TRY(hn_check_stop(bench->choices->context)); /* some launches may have been cut short */
  return hn_stream_between(device, slot->stream, 0, 1, out_elapsed_ns);
}
