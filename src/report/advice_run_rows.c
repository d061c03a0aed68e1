/* SPDX-License-Identifier: Apache-2.0 */
/* advice_run_rows.c - remedies that the run alone shows: threads, types, batch, streams, copies, what the reference
 * runs, conversions between layouts. */
#include "report/advice.h"
#include "tensor/shape.h"
#include <math.h>
#include <string.h>

static const hone_facts *facts_of(const hn_advising *a) { return a->p->in->facts; }

static bool any_row(const hn_advising *a, const hn_profile_row *row) {
  (void)a;
  (void)row;
  return true;
}

static bool is_product(const hn_profile_row *row) { return hn_profile_is_gemm(hn_profile_class(row)); }

/* ---- threads ---- */

static void find_threads(hn_advising *a, const hn_advice_row *row) {
  const int now = facts_of(a)->threads, most = a->facts.machine_threads;
  if (!facts_of(a)->host_memory || now < 1 || most <= now) return;
  hn_advice_item *item = hn_advice_add(a, row, "%d of the %d threads that there are compute", now, most);
  if (!item) return;
  hn_advice_take_rows(a, item, any_row);
  item->factor = most;
  hn_advice_flags(a, item, "--threads %d", most);
}

static void find_fewer_threads(hn_advising *a, const hn_advice_row *row) {
  const int now = facts_of(a)->threads;
  if (now < 2 || a->shares.waiting < 0.75) return; /* idle threads cost little until nearly all are */
  hn_advice_item *item = hn_advice_add(
      a, row, "threads wait %.0f %% of a run for the last one: loops have too few parts, or a core is slower or busy",
      100 * a->shares.waiting);
  if (!item) return;
  hn_advice_take_rows(a, item, any_row);
  item->factor = 0.3 * (a->shares.waiting - 0.6);
  hn_advice_flags(a, item, "--threads %d", now > 2 ? now / 2 : 1);
}

/* ---- types ---- */

static bool holds_type(const hn_plan *plan, hone_dtype type) {
  for (int t = 0; t < plan->tensor_count; ++t)
    if (plan->tensors[t].type.dtype == type) return true;
  return false;
}

static bool is_f32_row(const hn_advising *a, const hn_profile_row *row) {
  const hn_plan *plan = a->p->in->plan;
  if (hn_step_is_reference(row->step) || row->bound.unit != HONE_ROOF_F32) return false;
  for (int i = 0; i < row->step->out_count; ++i)
    if (row->step->out[i] >= 0 && plan->tensors[row->step->out[i]].type.dtype == HONE_F32) return true;
  return false;
}

static double product_share(const hn_advising *a) { return a->p->sum_ns > 0 ? a->p->gemm_ns / a->p->sum_ns : 0; }

static void find_narrow(hn_advising *a, const hn_advice_row *row, hone_dtype type, hone_roof unit, const char *flags) {
  const double f32 = facts_of(a)->roofs[HONE_ROOF_F32], narrow = facts_of(a)->roofs[unit];
  if (f32 <= 0 || narrow < 1.3 * f32 || product_share(a) < 0.2 || holds_type(a->p->in->plan, type)) return;
  hn_advice_item *item =
      hn_advice_add(a, row, "f32 products take %.0f %% of the time, and this machine multiplies %s %.1f times as fast",
                    100 * product_share(a), hone_roof_name(unit), narrow / f32);
  if (!item) return;
  item->unit = unit;
  if (hn_advice_take_rows(a, item, is_f32_row) == 0) --a->count;
  hn_advice_flags(a, item, "%s", flags);
}

/* f16 has three bits more: bf16 is for where it is faster. Of two types one is advised: layers that stay in f32 beside
 * it stay so for a reason. */
static bool prefers_f16(const hn_advising *a) {
  return facts_of(a)->roofs[HONE_ROOF_F16] > 0.9 * facts_of(a)->roofs[HONE_ROOF_BF16];
}

static void find_bf16(hn_advising *a, const hn_advice_row *row) {
  if (prefers_f16(a) || holds_type(a->p->in->plan, HONE_F16)) return;
  find_narrow(a, row, HONE_BF16, HONE_ROOF_BF16, "--bf16");
}

static void find_f16(hn_advising *a, const hn_advice_row *row) {
  if (!prefers_f16(a) || holds_type(a->p->in->plan, HONE_BF16)) return;
  find_narrow(a, row, HONE_F16, HONE_ROOF_F16, "--fp16");
}

static void find_int8(hn_advising *a, const hn_advice_row *row) {
  find_narrow(a, row, HONE_I8, HONE_ROOF_INT8, a->facts.calibrated ? "--int8" : "--int8 --calib FOLDER");
}

/* ---- what the reference runs, conversions ---- */

static bool is_reference_row(const hn_advising *a, const hn_profile_row *row) {
  (void)a;
  return hn_step_is_reference(row->step);
}

static void find_reference(hn_advising *a, const hn_advice_row *row) {
  if (a->shares.reference < 0.02) return;
  hn_advice_item *item =
      hn_advice_add(a, row, "%.0f %% of the time runs on the reference, which computes one element at a time",
                    100 * a->shares.reference);
  if (!item) return;
  hn_advice_take_rows(a, item, is_reference_row);
  if (a->facts.reference_only) --a->count; /* not the operators' fault: the next row's */
}

static void find_reference_only(hn_advising *a, const hn_advice_row *row) {
  if (!a->facts.reference_only) return;
  hn_advice_item *item = hn_advice_add(a, row, "the build was told to run every layer on the reference");
  if (!item) return;
  hn_advice_take_rows(a, item, is_reference_row);
  hn_advice_flags(a, item, "without --reference");
}

/* ---- passes that were left out ---- */

/* What a product takes in where passes may fuse: it writes its output once, as it would anyway. */
static bool is_taken_in(const hn_advising *a, const hn_profile_row *row) {
  (void)a;
  const hone_op *op = row->step->kind == HN_STEP_CALL ? row->step->op : NULL;
  return op && ((op->traits & (HONE_ELEMENTWISE | HONE_PER_CHANNEL)) || strcmp(op->name, "fused") == 0);
}

/* ... with the converts and copies that it alone needed. */
static bool goes_with_passes(const hn_advising *a, const hn_profile_row *row) {
  const hn_profile_row *layer = row->step->caused_by ? hn_advice_row_named(a, row->step->caused_by) : row;
  return layer && is_taken_in(a, layer);
}

static void find_passes(hn_advising *a, const hn_advice_row *row) {
  if (a->facts.disabled_passes == 0) return;
  hn_advice_item *item = hn_advice_add(
      a, row, "%d passes were left out, and layers that a product would take in run alone", a->facts.disabled_passes);
  if (!item) return;
  hn_advice_take_rows(a, item, goes_with_passes);
  hn_advice_flags(a, item, "without --disable");
}

static bool is_convert_row(const hn_advising *a, const hn_profile_row *row) {
  (void)a;
  return row->step->caused_by && row->step->kind != HN_STEP_COPY;
}

static void find_converts(hn_advising *a, const hn_advice_row *row) {
  if (a->shares.convert < 0.08) return;
  hn_advice_item *item = hn_advice_add(
      a, row, "conversions between layouts and types take %.0f %% of the time: neighbours want different storages",
      100 * a->shares.convert);
  if (item) hn_advice_take_rows(a, item, is_convert_row);
}

/* ---- copies, launches ---- */

static bool is_copy_row(const hn_advising *a, const hn_profile_row *row) {
  (void)a;
  return row->step->kind == HN_STEP_COPY;
}

static void find_copies(hn_advising *a, const hn_advice_row *row) {
  if (a->shares.transfer < 0.05) return;
  hn_advice_item *item = hn_advice_add(a, row, "copies between host and device take %.0f %% of a run, %d of them",
                                       100 * a->shares.transfer, a->p->transfers);
  if (!item) return;
  hn_advice_take_rows(a, item, is_copy_row);
  hn_advice_flags(a, item, "--device-io");
}

static void find_replay(hn_advising *a, const hn_advice_row *row) {
  if (!a->facts.no_replay || facts_of(a)->host_memory) return;
  hn_advice_item *item = hn_advice_add(
      a, row, "each step is launched by itself, and %.0f %% of a run lies between them", 100 * a->shares.between);
  if (!item) return;
  item->factor = fmax(a->shares.between, 0.05);
  hn_advice_flags(a, item, "without --no-replay");
}

/* ---- another device ---- */

/* Each step at two fifths of its roof there, and launched; inputs and outputs are copied over. */
static double elsewhere_ns(const hn_advising *a) {
  const double reach = 0.4, launch_ns = 2e3, wait_ns = 20e3, copied = 10; /* bytes a ns */
  const hone_facts *there = a->facts.other;
  const hn_plan *plan = a->p->in->plan;
  double sum = wait_ns, bytes = 0;
  for (int i = 0; i < a->p->count; ++i) {
    const hn_work *work = a->p->rows[i].work;
    const double moved = work->in_bytes + work->out_bytes + work->params_bytes;
    if (a->p->rows[i].step->caused_by) continue;
    sum += launch_ns +
           fmax(work->cost.flops / there->roofs[HONE_ROOF_F32], moved / there->roofs[HONE_ROOF_MEMORY]) * 1e9 / reach;
  }
  for (int t = 0; t < plan->tensor_count; ++t) {
    size_t one;
    if ((plan->tensors[t].place == HN_PLACE_INPUT || plan->tensors[t].place == HN_PLACE_OUTPUT) &&
        hn_type_bytes(&plan->tensors[t].type, &one))
      bytes += (double)one;
  }
  return sum + bytes / copied;
}

static void find_device(hn_advising *a, const hn_advice_row *row) {
  const hone_facts *there = a->facts.other;
  if (!there || !facts_of(a)->host_memory || there->host_memory || a->p->in->plan->dynamic) return;
  if (!(there->roofs[HONE_ROOF_F32] > 0) || !(there->roofs[HONE_ROOF_MEMORY] > 0)) return;
  const double saved = a->p->sum_ns - elsewhere_ns(a);
  if (saved < 0.2 * a->p->sum_ns) return;
  hn_advice_item *item = hn_advice_add(
      a, row, "%s is here, and multiplies f32 %.1f times as fast", there->name,
      facts_of(a)->roofs[HONE_ROOF_F32] > 0 ? there->roofs[HONE_ROOF_F32] / facts_of(a)->roofs[HONE_ROOF_F32] : 0);
  if (!item) return;
  item->factor = saved;
  hn_advice_take_rows(a, item, any_row);
  hn_advice_flags(a, item, "--device gpu");
}

static void predict_device(const hn_advising *a, hn_advice_item *item) {
  const double there_ns = a->p->sum_ns - item->factor;
  item->saving_ns = item->factor;
  item->low_ns = a->p->sum_ns - 2 * there_ns;
  item->high_ns = a->p->sum_ns - 0.6 * there_ns;
}

/* ---- batch, streams ---- */

/* A layer's time an item when its weights serve so many: bytes of weights and fixed costs are shared. */
static double batched_ns(const hn_advising *a, const hn_profile_row *row) {
  static const double reach = 0.4; /* of its roof that a layer of eight items comes to on a GPU */
  const hn_work *work = row->work;
  /* One item leaves most multiprocessors without work: eight take twice as long, until the roof says otherwise. */
  if (!facts_of(a)->host_memory)
    return row->bound.floor_ns > 0
               ? fmin(row->median_ns, fmax(2 * row->median_ns / HN_MORE_ITEMS, row->bound.floor_ns / reach))
               : row->median_ns;
  const double activations = work->in_bytes + work->out_bytes, bytes = activations + work->params_bytes;
  /* Of fixed costs a third is a run's; the rest, of tiles and loops, comes with each item. Weights in a nearer cache
   * than L3 are read as fast as they are used. */
  if (row->bound.kind == HN_BOUND_LATENCY) return row->median_ns - (row->median_ns - row->bound.floor_ns) / 3;
  if (row->bound.kind != HN_BOUND_MEMORY || row->bound.level < HONE_ROOF_L3 || bytes <= 0 || row->bound.floor_ns <= 0 ||
      strstr(hn_step_type(row->step), "conv")) /* which go through their weights image by image */
    return row->median_ns;
  const double memory = row->bound.memory_ns * (work->params_bytes / HN_MORE_ITEMS + activations) / bytes;
  return row->median_ns * fmin(1, fmax(row->bound.compute_ns, memory) / row->bound.floor_ns);
}

static bool gains_by_batch(const hn_advising *a, const hn_profile_row *row) {
  return batched_ns(a, row) < 0.8 * row->median_ns;
}

static void predict_batch(const hn_advising *a, hn_advice_item *item) {
  double saving = 0;
  for (int i = 0; i < item->row_count; ++i)
    saving += a->p->rows[item->rows[i]].median_ns - batched_ns(a, &a->p->rows[item->rows[i]]);
  item->saving_ns = saving;
  item->low_ns = 0.5 * saving;
  item->high_ns = 1.2 * saving;
}

/* Shapes with so many items, where the model leaves the first dimension of all its inputs free. */
static bool batch_flags(hn_advising *a, hn_text *out) {
  const hn_advice_model *m = a->facts.model;
  const hn_plan *plan = a->p->in->plan;
  for (int i = 0; m && i < plan->input_count; ++i) {
    const hn_advice_value *value = NULL;
    for (int v = 0; v < m->value_count && !value; ++v)
      if (m->values[v].name && strcmp(m->values[v].name, plan->inputs[i].name) == 0) value = &m->values[v];
    const hone_shape *opt = &plan->inputs[i].opt;
    if (!value || value->type.shape.rank < 1 || value->type.shape.dim[0] >= 0) return false;
    hn_text_printf(out, "%s%s:%d", i ? "," : "", plan->inputs[i].name, HN_MORE_ITEMS);
    for (int d = 1; d < opt->rank; ++d) hn_text_printf(out, "x%lld", (long long)opt->dim[d]);
  }
  return m && plan->input_count > 0 && !out->failed;
}

static void find_batch(hn_advising *a, const hn_advice_row *row) {
  double saved = 0;
  if (a->p->in->batch != 1 || a->p->in->plan->input_count == 0) return;
  for (int i = 0; i < a->p->count; ++i) saved += a->p->rows[i].median_ns - batched_ns(a, &a->p->rows[i]);
  if (saved < 0.1 * a->p->sum_ns) return;
  hn_advice_item *item =
      hn_advice_add(a, row, "at batch 1, reading weights and fixed costs take %.0f %% of the time; %d items share them",
                    100 * saved / a->p->sum_ns, HN_MORE_ITEMS);
  if (!item) return;
  hn_advice_take_rows(a, item, gains_by_batch);
  hn_text flags;
  hn_text_init(&flags, a->arena->allocator);
  if (batch_flags(a, &flags)) hn_advice_flags(a, item, "--shapes %s", hn_text_string(&flags));
  hn_text_deinit(&flags);
}

/* Layers of one request fill some of a device's multiprocessors, whatever bounds them: with four streams a request took
 * two fifths of its time, 0.32 to 0.49 on eight networks (docs/EXPERIMENTS.md). */
static void find_device_streams(hn_advising *a, const hn_advice_row *row) {
  static const double filled = 0.6;
  if (a->shares.latency < 0.25) return;
  hn_advice_item *item =
      hn_advice_add(a, row, "layers too short to fill the device take %.0f %% of the time", 100 * a->shares.latency);
  if (!item) return;
  item->factor = filled;
  hn_advice_flags(a, item, "--streams 4");
}

/* What is left of the machine beside one request; they share caches and memory. */
static void find_more_streams(hn_advising *a, const hn_advice_row *row, int streams) {
  static const double shared = 0.9;
  const int threads = facts_of(a)->threads;
  hn_advice_item *item =
      hn_advice_add(a, row, "one request takes %d of the %d threads that there are", threads, a->facts.machine_threads);
  if (!item) return;
  item->factor = shared * (1 - 1.0 / streams);
  hn_advice_flags(a, item, "--streams %d --threads %d", streams, threads);
}

static void find_streams(hn_advising *a, const hn_advice_row *row) {
  if (!facts_of(a)->host_memory) {
    find_device_streams(a, row);
    return;
  }
  const int threads = facts_of(a)->threads, most = a->facts.machine_threads;
  const double idle = fmax(a->shares.waiting, 0);
  if (a->facts.throughput && threads >= 1 && most > threads) {
    find_more_streams(a, row, most / threads);
    return;
  }
  if (threads < 2 || idle < 0.15) return;
  hn_advice_item *item = hn_advice_add(
      a, row, "%d threads work on one run and wait for one another %.0f %% of the time", threads, 100 * idle);
  if (!item) return;
  item->factor = 0.7 * idle;
  hn_advice_flags(a, item, "--streams %d --threads 1", threads);
}

/* ---- free dims, effort of tuning ---- */

/* Joins and splits, which move nothing where extents are known: their parts lie in one another's place. */
static bool is_laid_over(const hn_advising *a, const hn_profile_row *row) {
  (void)a;
  return row->step->tactic && row->step->tactic->overlay;
}

static void find_free_dims(hn_advising *a, const hn_advice_row *row) {
  if (!a->p->in->plan->dynamic || a->p->in->plan->after_run) return;
  hn_advice_item *item =
      hn_advice_add(a, row,
                    "the engine takes a range of shapes, so that joins and splits move their bytes, and kernels "
                    "for one shape are left out");
  if (!item) return;
  hn_advice_take_rows(a, item, is_laid_over);
  hn_advice_flags(a, item, "without --minShapes --maxShapes");
}

/* The share of its roof that the best quarter of an operator's layers reaches, by time. */
static double best_share(const hn_advising *a, const char *type) {
  double best = 0;
  for (int i = 0; i < a->p->count; ++i) {
    const hn_profile_row *at = &a->p->rows[i];
    double better_ns = 0, all_ns = 0;
    if (strcmp(hn_step_type(at->step), type) != 0) continue;
    for (int k = 0; k < a->p->count; ++k) {
      if (strcmp(hn_step_type(a->p->rows[k].step), type) != 0) continue;
      all_ns += a->p->rows[k].median_ns;
      better_ns += a->p->rows[k].bound.share > at->bound.share ? a->p->rows[k].median_ns : 0;
    }
    if (better_ns <= 0.25 * all_ns && (best == 0 || at->bound.share < best)) best = at->bound.share;
  }
  return fmin(best, 1);
}

/* What kernels that were timed gain: a third of the way to what the best layers of the operator reach. */
static double tuned_saving(const hn_advising *a, const hn_profile_row *row) {
  const double best = best_share(a, hn_step_type(row->step));
  if (best <= 0 || row->bound.floor_ns <= 0) return 0;
  return fmax(0, 0.3 * (row->median_ns - row->bound.floor_ns / best));
}

static void predict_level(const hn_advising *a, hn_advice_item *item) {
  for (int i = 0; i < item->row_count; ++i) item->saving_ns += tuned_saving(a, &a->p->rows[item->rows[i]]);
  item->high_ns = 2 * item->saving_ns;
}

static void find_level(hn_advising *a, const hn_advice_row *row) {
  if (a->facts.level >= 0) return;
  hn_advice_item *item = hn_advice_add(a, row, "estimates chose the kernels: nothing was timed on this machine");
  if (!item) return;
  hn_advice_take_rows(a, item, any_row);
  hn_advice_flags(a, item, "--level 3");
}

/* ---- fused forms that fall behind ---- */

/* Layers that hold products and more in one kernel. */
static bool is_fused_products(const hn_profile_row *row) {
  return row->step->op && is_product(row) && row->step->origin_count > 1 &&
         strcmp(row->step->op->name, "inverted_residual") == 0;
}

static double parts_saving(const hn_advising *a, const hn_profile_row *row) {
  double time_ns = 0, floor_ns = 0;
  for (int i = 0; i < a->p->count; ++i) {
    const hn_profile_row *other = &a->p->rows[i];
    if (!is_product(other) || is_fused_products(other) != is_fused_products(row) || other == row) continue;
    time_ns += other->median_ns;
    floor_ns += other->bound.floor_ns;
  }
  const double share = time_ns > 0 ? fmin(0.9, floor_ns / time_ns) : 0;
  if (share <= 0 || row->bound.share > 0.5 * share || a->facts.level >= 3) return 0; /* which timed the parts */
  return fmax(0, 0.25 * (row->median_ns - row->bound.floor_ns / share));
}

static bool gains_by_parts(const hn_advising *a, const hn_profile_row *row) {
  return is_fused_products(row) && parts_saving(a, row) > 0.05 * row->median_ns;
}

static void predict_parts(const hn_advising *a, hn_advice_item *item) {
  for (int i = 0; i < item->row_count; ++i) item->saving_ns += parts_saving(a, &a->p->rows[item->rows[i]]);
  item->high_ns = 2 * item->saving_ns;
}

static void find_parts(hn_advising *a, const hn_advice_row *row) {
  int worst = -1;
  for (int i = 0; i < a->p->count; ++i)
    if (gains_by_parts(a, &a->p->rows[i]) &&
        (worst < 0 || parts_saving(a, &a->p->rows[i]) > parts_saving(a, &a->p->rows[worst])))
      worst = i;
  if (worst < 0 || strpbrk(a->p->rows[worst].step->name, " =:*?[")) return;
  const hn_profile_row *at = &a->p->rows[worst];
  hn_advice_item *item = hn_advice_add(a, row, "the fused kernel of %s reaches %.0f %% of its roof, less than its like",
                                       at->step->name, 100 * at->bound.share);
  if (!item) return;
  int *rows = HN_NEW(a->arena, int, 1);
  const char **names = HN_NEW(a->arena, const char *, 1);
  if (!rows || !names) {
    a->failed = true;
    return;
  }
  rows[0] = worst;
  names[0] = at->step->name;
  item->rows = rows;
  item->layers = names;
  item->row_count = item->layer_count = 1;
  hn_advice_flags(a, item, "--tactic %s=parts", at->step->name);
}

/* ---- extents that vectors do not divide ---- */

enum { ALIGNED = 8 };

/* The dimension that a product sums over: channels of an image, the last one of a matrix. */
static int64_t depth_of(const hn_advising *a, const hn_profile_row *row) {
  const hn_plan *plan = a->p->in->plan;
  const hn_plan_step *step = row->step;
  if (!is_product(row) || step->in_count == 0 || step->in[0] < 0) return 0;
  const hone_shape *shape = &plan->tensors[step->in[0]].type.shape;
  if (shape->rank < 2) return 0;
  const bool image = strstr(hn_step_type(step), "conv") != NULL;
  return shape->dim[image ? 1 : shape->rank - 1];
}

static double aligned_share(const hn_advising *a, const char *type) {
  double time_ns = 0, floor_ns = 0;
  for (int i = 0; i < a->p->count; ++i) {
    const hn_profile_row *row = &a->p->rows[i];
    if (strcmp(hn_step_type(row->step), type) != 0 || depth_of(a, row) % ALIGNED != 0) continue;
    time_ns += row->median_ns;
    floor_ns += row->bound.floor_ns;
  }
  return time_ns > 0 ? floor_ns / time_ns : 0;
}

static double padded_saving(const hn_advising *a, const hn_profile_row *row) {
  const int64_t depth = depth_of(a, row);
  const double share = aligned_share(a, hn_step_type(row->step));
  /* The first layer's 3 channels are the picture's; a network has them by nature. */
  if (depth <= 4 || depth % ALIGNED == 0 || row->bound.floor_ns <= 0 || share <= row->bound.share) return 0;
  const double padded = (double)((depth + ALIGNED - 1) / ALIGNED * ALIGNED) / (double)depth;
  return fmax(0, row->median_ns - row->bound.floor_ns * padded / share);
}

static bool gains_by_padding(const hn_advising *a, const hn_profile_row *row) {
  return padded_saving(a, row) > 0.1 * row->median_ns;
}

static void predict_padding(const hn_advising *a, hn_advice_item *item) {
  for (int i = 0; i < item->row_count; ++i) item->saving_ns += padded_saving(a, &a->p->rows[item->rows[i]]);
  item->low_ns = 0.3 * item->saving_ns;
  item->high_ns = 1.2 * item->saving_ns;
}

static void find_padding(hn_advising *a, const hn_advice_row *row) {
  for (int i = 0; i < a->p->count; ++i) {
    if (!gains_by_padding(a, &a->p->rows[i])) continue;
    const int64_t depth = depth_of(a, &a->p->rows[i]);
    hn_advice_item *item =
        hn_advice_add(a, row,
                      "products over a depth of %lld, as in %s, reach %.0f %% of their roof, multiples of %d "
                      "reach %.0f %%",
                      (long long)depth, a->p->rows[i].step->name, 100 * a->p->rows[i].bound.share, ALIGNED,
                      100 * aligned_share(a, hn_step_type(a->p->rows[i].step)));
    if (item) hn_advice_take_rows(a, item, gains_by_padding);
    return;
  }
}

const hn_advice_row hn_advice_run_rows[] = {
    {"threads", "threads", "compute on all of them", NULL, "medium", true, find_threads, hn_predict_threads,
     hn_expect_run},
    {"fewer-threads", "threads", "compute on fewer", NULL, "low", true, find_fewer_threads, hn_predict_share,
     hn_expect_run},
    {"bf16", "precision", "let layers compute and hold values in bf16", NULL, "medium", true, find_bf16,
     hn_predict_precision, hn_expect_narrower},
    {"fp16", "precision", "let layers compute and hold values in f16", NULL, "medium", true, find_f16,
     hn_predict_precision, hn_expect_narrower},
    {"int8", "precision", "let products run in 8 bits, by ranges of real inputs",
     "none: hone quantize writes the quantised model where a file is wanted", "low", false, find_int8,
     hn_predict_precision, NULL},
    {"reference", "operator", "replace the operators that have no kernel (hone explain names what each lacks)",
     "the same computation in operators that hone check does not list as slow", "high", false, find_reference,
     hn_predict_reference, NULL},
    {"reference-only", "operator", "let layers run on kernels", NULL, "high", true, find_reference_only,
     hn_predict_reference, NULL},
    {"passes", "fusion", "let all passes work", NULL, "medium", true, find_passes, hn_predict_fused, hn_expect_fusions},
    {"converts", "format", "bring the layers that want different storages together, or take out what lies between them",
     "layers of one kind next to one another; channels that are a multiple of 16", "medium", false, find_converts,
     hn_predict_removed, NULL},
    {"copies", "transfer", "leave inputs and outputs in the device's memory, bound by address", NULL, "medium", false,
     find_copies, hn_predict_removed, NULL},
    {"replay", "launch", "let recorded runs of steps be replayed", NULL, "medium", true, find_replay, hn_predict_share,
     NULL},
    {"device", "device", "run it there", NULL, "medium", true, find_device, predict_device, NULL},
    {"batch", "batch", "run several items at once, where they can wait for one another",
     "a free batch dimension, with --optShapes for 8 items; the saving is that of an item", "medium", false, find_batch,
     predict_batch, hn_expect_items},
    {"streams", "streams", "run several requests side by side: throughput, not latency", NULL, "low", false,
     find_streams, hn_predict_share, NULL},
    {"free-dims", "shapes", "build for the one shape, or give each shape a profile of its own", NULL, "low", true,
     find_free_dims, hn_predict_removed, hn_expect_run},
    {"level", "tuning", "time the kernels on this machine", NULL, "low", true, find_level, predict_level,
     hn_expect_times},
    {"region", "fusion", "compute both as one, so that what lies between them stays in the nearest cache",
     "none: hone has no fused form of these two yet", "low", false, hn_find_region, hn_predict_region, NULL},
    {"parts", "fusion", "run it as its parts", NULL, "low", true, find_parts, predict_parts, NULL},
    {"padding", "extents", "pad these extents to a multiple of 8, or choose others where the network is designed",
     "weights and activations with zeros appended up to a multiple of 8", "low", false, find_padding, predict_padding,
     NULL},
    {0},
};
