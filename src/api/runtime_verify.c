/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_verify.c - every step of an engine against the reference, on the device at hand.
 *
 * A step's kernel runs on seeded inputs at the opt shapes, with the engine's tactic, parameters and storages, and is
 * compared with the operator's own eval. Constants that the engine holds plainly are used as they are. Weights that it
 * holds only as a kernel's packed form are replaced by seeded ones, packed anew by the same tactic: what is measured is
 * the kernel on its real shapes, while the stored bytes are checked by their hashes, which come first. */
#include "base/float_mode.h"
#include "base/arguments.h"
#include "base/random.h"
#include "report/report.h"
#include "run/session.h"
#include "tensor/element.h"
#include "tensor/evaluate.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include <math.h>
#include <string.h>

enum { WINDOWS = 16, WINDOW_ELEMENTS = 256, MAX_PORTS = HONE_MAX_PORTS * 2 };

typedef struct verification {
  hone_engine *engine;
  const hn_plan *plan; /* the schedule that is verified now */
  const hone_verify_options *options;
  hone_diagnostics *diag;
  int64_t *symbols; /* at the opt shapes */
  hn_stop stop;
} verification;

/* One step on the bench; everything lives in the arena. */
typedef struct bench {
  verification *of;
  const hn_plan_step *step;
  hn_arena arena;
  hone_fact in_facts[MAX_PORTS], out_facts[MAX_PORTS];
  hone_tensor in[MAX_PORTS], want[MAX_PORTS];              /* plain, in the values' own types */
  hone_tensor launch_in[MAX_PORTS], launch_out[MAX_PORTS]; /* as the tactic stores them */
  void *packed, *scratch;
} bench;

/* Whoever is stopped here hears of it before anything is compared. */
static void *allocate(bench *b, size_t bytes) {
  void *block = hn_arena_alloc(&b->arena, bytes + 64, 64);
  if (block) (void)hn_stop_clear(&b->of->stop, block, bytes + 64);
  return block;
}

/* The type of a tensor of the plan as the operator knows it; dims as in `stored`. */
static hone_type own_type(const bench *b, int t, const hone_type *stored) {
  hone_type type = *stored;
  type.dtype = b->of->plan->tensors[t].dtype;
  type.format = HONE_PLAIN;
  return type;
}

static hone_status new_tensor(bench *b, const hone_type *type, hone_tensor *out) {
  *out = (hone_tensor){.type = *type};
  if (!hn_type_bytes(&out->type, &out->bytes))
    return HN_FAIL(b->of->diag, HONE_LIMIT, "step %s: a tensor is too large", b->step->name);
  out->data = allocate(b, out->bytes);
  return out->data ? HONE_OK : HN_FAIL_MEMORY(b->of->diag);
}

/* Large weights make a recurrent layer chaotic: it would multiply any rounding step by step. */
static double spread_of(const hone_op *op, int input, const hone_shape *shape) {
  int port = 0;
  while (port < input && op->in[port].name) ++port;
  const bool weights = op->in[port].name && op->in[port].flags & HONE_PORT_PARAM && shape->rank > 1;
  return weights && shape->dim[shape->rank - 1] > 0 ? 1 / sqrt((double)shape->dim[shape->rank - 1]) : 1;
}

/* Reals in [-spread, spread); small whole numbers for narrow integers; wide ones, mostly indices, are 0. */
static void fill(hn_stop *stop, hone_tensor *tensor, const hone_fact *fact, double spread, hn_random *random) {
  const int64_t count = hn_elems(&tensor->type.shape);
  const hone_dtype dtype = tensor->type.dtype;
  for (int64_t i = 0; i < count && !hn_stop_at(stop, i); ++i) {
    if (fact->value && i < fact->value_count)
      hn_store_int(tensor, i, fact->value[i]);
    else if (hn_dtype_is_float(dtype))
      hn_store_real(tensor, i, (hn_random_unit(random) * 2 - 1) * spread);
    else
      hn_store_int(tensor, i,
                   (int64_t)(hn_random_u64(random) % (dtype == HONE_BOOL            ? 2
                                                      : hone_dtype_bits(dtype) <= 8 ? 128
                                                                                    : 1)));
  }
}

/* A constant as the engine holds it; small integers also become the fact's values. */
static bool take_constant(bench *b, int i) {
  int64_t *room = allocate(b, HONE_MAX_FACT_VALUES * sizeof *room);
  hone_tensor *constant = allocate(b, sizeof *constant);
  hone_fact *fact = &b->in_facts[i];
  if (!room || !constant) return false;
  if (!hn_plan_constant(b->of->plan, b->step->in[i], constant, room, &fact->value, &fact->value_count)) return false;
  fact->constant = constant;
  b->in[i] = *constant;
  return true;
}

static hone_status make_input(bench *b, int i, hn_random *random) {
  hone_fact *fact = &b->in_facts[i];
  if (b->step->in[i] < 0 || fact->type.kind == HONE_ABSENT) return HONE_OK;
  const hone_type own = own_type(b, b->step->in[i], &fact->type);
  if (!take_constant(b, i)) {
    HN_TRY(new_tensor(b, &own, &b->in[i]));
    fill(&b->of->stop, &b->in[i], fact, spread_of(b->step->op, i, &fact->type.shape), random);
  }
  b->launch_in[i] = b->in[i];
  const bool as_stored = hn_type_equal(&b->in[i].type, &fact->type), as_own = hn_type_equal(&b->in[i].type, &own);
  if (as_stored && as_own) return HONE_OK;
  hone_tensor *other = as_stored ? &b->in[i] : &b->launch_in[i]; /* a constant may lie as the tactic stores it */
  HN_TRY(new_tensor(b, as_stored ? &own : &fact->type, other));
  if (hn_layout_convert(as_stored ? &b->launch_in[i] : &b->in[i], other)) return HONE_OK;
  return HN_FAIL(b->of->diag, HONE_INTERNAL, "step %s: input %d cannot be laid out", b->step->name, i);
}

static hone_status make_tensors(bench *b) {
  hn_random random = {.state = b->of->options->seed};
  for (int i = 0; i < b->step->in_count; ++i) HN_TRY(make_input(b, i, &random));
  for (int o = 0; o < b->step->out_count; ++o) {
    const hone_type *type = &b->out_facts[o].type;
    if (b->step->out[o] < 0 || type->kind == HONE_ABSENT) continue;
    const hone_type own = own_type(b, b->step->out[o], type);
    HN_TRY(new_tensor(b, &own, &b->want[o]));
    HN_TRY(new_tensor(b, type, &b->launch_out[o]));
  }
  return HONE_OK;
}

/* Runs [first, last) that are compared: both ends, and others in between. All of it when full or small. */
static int window_count(const bench *b, int64_t count) {
  return count == 0 ? 0 : b->of->options->full || count <= WINDOWS * WINDOW_ELEMENTS ? 1 : WINDOWS;
}

static hone_window window_at(const bench *b, int output, int64_t count, int at) {
  hone_window window = {.output = output, .last = count};
  if (window_count(b, count) == 1) return window;
  hn_random random = {.state = b->of->options->seed * 7919 + (uint64_t)at};
  const int64_t last_start = count - WINDOW_ELEMENTS;
  window.first = at == 0 ? 0 : at == 1 ? last_start : (int64_t)(hn_random_u64(&random) % (uint64_t)(last_start + 1));
  window.last = window.first + WINDOW_ELEMENTS;
  return window;
}

static hone_status run_reference(bench *b) {
  const hn_plan_step *step = b->step;
  hone_fact in[MAX_PORTS], out[MAX_PORTS]; /* the operator knows no storages */
  memcpy(in, b->in_facts, sizeof in);
  memcpy(out, b->out_facts, sizeof out);
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] >= 0) in[i].type = own_type(b, step->in[i], &in[i].type);
  for (int o = 0; o < step->out_count; ++o)
    if (step->out[o] >= 0) out[o].type = own_type(b, step->out[o], &out[o].type);
  const hone_op *op = step->op;
  const size_t bytes = op->eval_scratch ? op->eval_scratch(&step->attrs, in, step->in_count, out, step->out_count) : 0;
  hone_eval eval = {.op = op,
                    .attrs = &step->attrs,
                    .in_count = step->in_count,
                    .out_count = step->out_count,
                    .in = b->in,
                    .out = b->want,
                    .scratch = allocate(b, bytes),
                    .diagnostics = b->of->diag};
  if (!eval.scratch) return HN_FAIL_MEMORY(b->of->diag);
  if (op->traits & HONE_WHOLE) return hn_evaluate(&eval, NULL, &b->of->stop);
  for (int o = 0; o < step->out_count; ++o) {
    const int64_t count = b->want[o].data ? hn_elems(&b->want[o].type.shape) : 0;
    for (int w = 0; w < window_count(b, count); ++w) {
      const hone_window window = window_at(b, o, count, w);
      HN_TRY(hn_evaluate(&eval, &window, &b->of->stop));
    }
  }
  return HONE_OK;
}

/* Weights that are only packed in the engine: seeded ones, packed by the same tactic. */
static hone_status pack_weights(bench *b, const hone_query *query) {
  const hone_tactic *tactic = b->step->tactic;
  hone_needs needs;
  const uint32_t mask = tactic->pack_mask & b->step->constant_mask;
  if (!b->step->packed_bytes) return HONE_OK;
  for (int i = 0; i < b->step->in_count; ++i)
    if (hn_mask_has(mask, i)) b->in_facts[i].constant = &b->in[i];
  if (hn_tactic_plan(query, NULL, &needs)) return HONE_INTERNAL;
  b->packed = allocate(b, needs.packed);
  if (!b->packed) return HN_FAIL_MEMORY(b->of->diag);
  HN_TRY(tactic->pack(query, b->packed));
  for (int i = 0; i < b->step->in_count; ++i)
    if (hn_mask_has(mask, i)) {
      b->in_facts[i].constant = NULL; /* as at run time */
      b->launch_in[i].data = NULL;
    }
  return HONE_OK;
}

static hone_status run_tactic(bench *b) {
  const hn_plan_step *step = b->step;
  hone_device *device = b->of->engine->devices[step->device];
  hone_query query;
  hn_plan_step_query(b->of->plan, step, &device->facts, b->in_facts, b->out_facts, &query);
  HN_TRY(pack_weights(b, &query));
  hn_prepared prepared;
  HN_TRY(hn_prepare(device, &query, &prepared, b->of->diag));
  b->scratch = allocate(b, prepared.scratch_bytes);
  const hone_launch launch = {.in_count = step->in_count,
                              .out_count = step->out_count,
                              .in = b->launch_in,
                              .out = b->launch_out,
                              .packed = b->packed,
                              .scratch = b->scratch,
                              .diagnostics = b->of->diag};
  hone_stream *stream = NULL;
  hn_staged_launch staged = {0};
  hone_status status = b->scratch ? HONE_OK : HN_FAIL_MEMORY(b->of->diag);
  if (status == HONE_OK) status = hn_stream_open(device, 2, &stream, b->of->diag);
  if (status == HONE_OK)
    status = hn_staged_launch_open(device, stream, &launch, (size_t)step->packed_bytes, prepared.scratch_bytes, &staged,
                                   b->of->diag);
  if (status == HONE_OK) {
    hn_stream_stops(device, stream, &b->of->stop);
    status = hn_launch(device, &prepared, stream, &staged.launch);
  }
  if (status == HONE_OK) status = hn_stop_check(&b->of->stop, b->of->diag);
  if (status == HONE_OK) status = hn_staged_launch_fetch(&staged, b->of->diag);
  hn_staged_launch_close(&staged);
  hn_stream_close(device, stream);
  hn_unprepare(&prepared);
  return status;
}

typedef struct error_sum {
  double difference, reference;
  bool broken; /* an integer differs, or a number is none */
} error_sum;

static void add_window(hn_stop *stop, const hone_tensor *got, const hone_tensor *want, const hone_window *window,
                       error_sum *sum) {
  const bool real = hn_dtype_is_float(want->type.dtype);
  for (int64_t i = window->first; i < window->last && !hn_stop_at(stop, i); ++i) {
    const double a = hn_real(got, i), c = hn_real(want, i);
    if (!real || !isfinite(a) || !isfinite(c)) {
      const bool same = real ? (isnan(a) && isnan(c)) || a == c : hn_int(got, i) == hn_int(want, i);
      sum->broken = sum->broken || !same;
      continue;
    }
    sum->difference += (a - c) * (a - c);
    sum->reference += c * c;
  }
}

static hone_status compare(bench *b, hn_verified_step *row) {
  error_sum sum = {0};
  for (int o = 0; o < b->step->out_count; ++o) {
    if (!b->want[o].data) continue;
    hone_tensor plain = b->launch_out[o];
    if (plain.type.format != HONE_PLAIN) {
      HN_TRY(new_tensor(b, &b->want[o].type, &plain));
      if (!hn_layout_convert(&b->launch_out[o], &plain))
        return HN_FAIL(b->of->diag, HONE_INTERNAL, "step %s: output %d cannot be laid out", b->step->name, o);
    }
    const int64_t count = hn_elems(&plain.type.shape);
    for (int w = 0; w < window_count(b, count); ++w) {
      const hone_window window = window_at(b, o, count, w);
      add_window(&b->of->stop, &plain, &b->want[o], &window, &sum);
      row->compared += window.last - window.first;
    }
  }
  row->error = sum.broken ? HUGE_VAL : sum.reference > 0 ? sqrt(sum.difference / sum.reference) : sqrt(sum.difference);
  return HONE_OK;
}

/* The bound of a step that was not measured when it was built. */
static double bound_of(const bench *b) {
  const hn_plan_step *step = b->step;
  const hn_plan_tensor *tensors = b->of->plan->tensors;
  hone_dtype narrow = HONE_NONE;
  for (int i = 0; i < step->in_count + step->out_count; ++i) {
    const int t = i < step->in_count ? step->in[i] : step->out[i - step->in_count];
    if (t >= 0 && tensors[t].type.dtype != tensors[t].dtype) narrow = hn_storage_coarser(narrow, tensors[t].type.dtype);
  }
  return hn_tactic_bound(step->tactic, tensors[step->out[0]].dtype, narrow);
}

/* Why a step is not run here; NULL when it is. */
static const char *left_out(const hn_plan_step *step, const hone_fact *out) {
  if (step->kind != HN_STEP_CALL) return "no kernel runs";
  if (hn_step_is_reference(step)) return "the reference itself";
  if (!step->op->eval) return "the operator has no reference";
  for (int o = 0; o < step->out_count; ++o)
    if (step->out[o] >= 0 && (out[o].type.kind != HONE_TENSOR || !hn_shape_known(&out[o].type.shape)))
      return "a data-dependent shape";
  return NULL;
}

static hone_status verify_step(bench *b, hn_verified_step *row) {
  const hn_plan_step *step = b->step;
  if (hn_plan_step_facts(b->of->plan, step, b->of->symbols, b->in_facts, b->out_facts, NULL) != HONE_OK) {
    row->left_out = "a data-dependent shape";
    return HONE_OK;
  }
  row->left_out = left_out(step, b->out_facts);
  if (row->left_out) return HONE_OK;
  row->bound = step->error_bound > 0 ? step->error_bound : bound_of(b);
  HN_TRY(make_tensors(b));
  HN_TRY(run_reference(b));
  HN_TRY(run_tactic(b));
  return compare(b, row);
}

static hone_status bind_symbols(verification *v, hn_arena *arena) {
  const hn_plan *plan = v->plan;
  hone_shape *shapes = HN_NEW(arena, hone_shape, plan->input_count + 1);
  v->symbols = HN_NEW(arena, int64_t, plan->dims.symbol_count + 1);
  if (!shapes || !v->symbols) return HN_FAIL_MEMORY(v->diag);
  for (int i = 0; i < plan->input_count; ++i) shapes[i] = plan->inputs[i].opt;
  return hn_plan_bind_symbols(plan, shapes, v->symbols, v->diag);
}

static hone_status verify_schedule(verification *v, hn_arena *arena, hn_verified_step **out_rows, bool *within) {
  const hn_plan *plan = v->plan;
  HN_TRY(bind_symbols(v, arena));
  hn_verified_step *rows = *out_rows = HN_NEW(arena, hn_verified_step, plan->step_count + 1);
  bench *b = HN_NEW(arena, bench, 1);
  if (!rows || !b) return HN_FAIL_MEMORY(v->diag);
  for (int s = 0; s < plan->step_count; ++s) {
    if (plan->steps[s].in_count > MAX_PORTS || plan->steps[s].out_count > MAX_PORTS) {
      rows[s].left_out = "too many inputs to try alone";
      continue;
    }
    *b = (bench){.of = v, .step = &plan->steps[s]};
    hn_arena_init(&b->arena, arena->allocator);
    hone_status status = verify_step(b, &rows[s]);
    if (status == HONE_OK) status = hn_stop_check(&v->stop, v->diag);
    hn_arena_deinit(&b->arena);
    if (status != HONE_OK) return hone_note(v->diag, status, "in step %s", plan->steps[s].name);
    if (!rows[s].left_out && !(rows[s].error <= rows[s].bound)) *within = false;
  }
  return HONE_OK;
}

static hone_status verify(verification *v, hn_arena *arena, hn_text *out, bool *within) {
  const hn_schedules *schedules = v->engine->schedules;
  hn_verified_step *rows[HONE_MAX_SCHEDULES] = {0};
  HN_TRY(hn_schedules_check_weights(schedules, NULL, &v->stop, v->diag));
  *within = true;
  for (int k = 0; k < schedules->count; ++k) {
    if (v->options->one_schedule && v->options->schedule != k) continue;
    v->plan = schedules->plans[k];
    HN_TRY_NOTE(v->diag, verify_schedule(v, arena, &rows[k], within), "in schedule %d", k);
  }
  const hone_report_options options = {
      .struct_size = sizeof options, .json = v->options->json, .width = v->options->width};
  hn_report_verify(schedules, rows, &options, arena, out);
  return out->failed ? HN_FAIL_MEMORY(v->diag) : HONE_OK;
}

hone_status hone_verify(hone_engine *engine, const hone_verify_options *given, hone_write_fn write, void *user,
                        bool *out_within_bounds, hone_diagnostics *diag) {
  if (out_within_bounds) *out_within_bounds = false;
  HN_GIVEN(diag, engine);
  HN_GIVEN(diag, write);
  HN_GIVEN(diag, out_within_bounds);
  hone_verify_options taken;
  const hone_verify_options *options = &taken;
  HN_OPTIONS(diag, "verify", given, hone_verify_options, seed, &taken);
  HN_TRY(hn_argument_range(diag, "verify option width", taken.width, 0, 1 << 16));
  HN_TRY(hn_argument_range(diag, "verify option deadline_ms", taken.deadline_ms, 0, HN_MOST_MS));
  HN_TRY(hn_engine_check_weighted(engine, diag));
  if (engine->schedules->shown)
    return HN_FAIL(diag, HONE_DEVICE, "the engine was opened without devices: to look at, not to run");
  if (options->one_schedule) HN_TRY(hn_engine_check_schedule(engine, options->schedule, diag));
  verification v = {.engine = engine, .options = options, .diag = diag};
  v.stop.cancel = taken.cancel;
  v.stop.allowed_ms = taken.deadline_ms;
  hn_stop_begin(&v.stop);
  hn_arena arena;
  hn_text text;
  hn_arena_init(&arena, engine->allocator);
  hn_text_init(&text, engine->allocator);
  bool within = false;
  const hn_float_mode before = hn_float_mode_flush(!engine->schedules->keep_subnormals); /* both sides, as runs do */
  hone_status status = verify(&v, &arena, &text, &within);
  hn_float_mode_set(before);
  if (status == HONE_OK && !write(user, hn_text_string(&text), text.length))
    status = HN_FAIL(diag, HONE_IO, "the report could not be written");
  if (status == HONE_OK) *out_within_bounds = within;
  hn_text_deinit(&text);
  hn_arena_deinit(&arena);
  return status;
}
