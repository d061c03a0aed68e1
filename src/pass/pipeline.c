/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.c - the passes, in order. Recognising and moving transposes come before fusing, which needs neighbours to be
 * next to each other; folding follows whatever computes on constants; a pass may stand here more than once. */
#include "pass/pipeline.h"
#include "base/text.h"
#include "pass/passes.h"
#include <hone/plugin.h>
#include <string.h>

#if defined(HN_VERIFY_PASSES) || !defined(NDEBUG)
enum { VERIFIES = 1 };
#else
enum { VERIFIES = 0 };
#endif

static const hn_pass passes[] = {
    {.name = "import_cleanup", .doc = "drops nodes that do nothing", .rewrites = hn_rules_cleanup, .repeat = true},
    {.name = "quantised_ends",
     .doc = "gives every reader of bytes its own scale",
     .run = hn_pass_quantised_ends}, /* before constants are folded, which would make f32 of quantised weights */
    {.name = "quantised_moves",
     .doc = "moves and selects bytes instead of what they stand for",
     .rewrites = hn_rules_quantised_moves,
     .repeat = true},
    {.name = "quantised_concats",
     .doc = "joins bytes instead of what they stand for",
     .run = hn_pass_quantised_concats},
    {.name = "eliminate_dead", .doc = "removes what nobody uses", .run = hn_pass_eliminate_dead},
    {.name = "quantised_ends", .doc = "gives every reader of bytes its own scale", .run = hn_pass_quantised_ends},
    {.name = "quantised", .doc = "computes with bytes between equal roundings", .rewrites = hn_rules_quantised},
    {.name = "quantised_linear",
     .doc = "sums bytes in layers whose output stays in floats",
     .rewrites = hn_rules_quantised_linear},
    {.name = "nbits", .doc = "keeps weights of few bits packed", .rewrites = hn_rules_nbits, .repeat = true},
    {.name = "byte_tables", .doc = "makes tables of functions of one byte", .run = hn_pass_byte_tables},
    {.name = "eliminate_dead", .doc = "removes what nobody uses", .run = hn_pass_eliminate_dead},
    {.name = "fold_constants", .doc = "evaluates what depends on constants only", .run = hn_pass_fold_constants},
    {.name = "fold_branches", .doc = "puts the branch that is known to run in its place", .run = hn_pass_fold_branches},
    {.name = "import_cleanup", .doc = "again, for types known by now", .rewrites = hn_rules_cleanup, .repeat = true},
    {.name = "plugins",
     .doc = "plug-ins' rewrites",
     .run = hn_pass_plugins}, /* on what the model says, before anything is taken apart or joined */
    {.name = "shorthand", .doc = "operators that are short for others", .rewrites = hn_rules_shorthand},
    {.name = "einsum", .doc = "takes sums of products apart", .rewrites = hn_rules_einsum, .repeat = true},
    {.name = "fold_constants", .doc = "evaluates what depends on constants only", .run = hn_pass_fold_constants},
    {.name = "fold_shapes", .doc = "turns reshape and its kin into views", .run = hn_pass_fold_shapes},
    {.name = "slices", .doc = "merges slices of slices", .rewrites = hn_rules_slices, .repeat = true},
    {.name = "parts", .doc = "makes slices of channels parts of splits", .rewrites = hn_rules_parts},
    {.name = "eliminate_dead", .doc = "removes what nobody uses", .run = hn_pass_eliminate_dead},
    {.name = "merge_common", .doc = "merges equal nodes and constants", .run = hn_pass_merge_common},
    {.name = "recognise", .doc = "names layers exported in pieces", .rewrites = hn_rules_recognise, .repeat = true},
    {.name = "pieces", .doc = "names pools, shuffles and norms", .rewrites = hn_rules_pieces, .repeat = true},
    {.name = "subpixel",
     .doc = "names transposed convolutions written as 1x1 convolutions and shuffles",
     .rewrites = hn_rules_subpixel},
    {.name = "plugins",
     .doc = "plug-ins' rewrites",
     .run = hn_pass_plugins}, /* on layers that have got their names back */
    {.name = "attention", .doc = "names attention exported in pieces", .rewrites = hn_rules_attention, .repeat = true},
    {.name = "attention_heads",
     .doc = "cuts heads from rows in place",
     .rewrites = hn_rules_attention_heads,
     .repeat = true},
    {.name = "quantised_sums",
     .doc = "adds bytes where a convolution makes one of the summands",
     .rewrites = hn_rules_quantised_sums},
    {.name = "dynamic",
     .doc = "makes floats of sums of bytes where they are formed",
     .rewrites = hn_rules_dynamic,
     .repeat = true},
    {.name = "channels", .doc = "merges joins, cuts and shuffles", .rewrites = hn_rules_channels, .repeat = true},
    {.name = "transposes",
     .doc = "merges, moves and cancels transposes",
     .rewrites = hn_rules_transposes,
     .repeat = true},
    {.name = "fold_constants", .doc = "evaluates what depends on constants only", .run = hn_pass_fold_constants},
    {.name = "fuse_conv", .doc = "what a convolution may absorb", .rewrites = hn_rules_conv, .repeat = true},
    {.name = "transposes",
     .doc = "merges, moves and cancels transposes",
     .rewrites = hn_rules_transposes,
     .repeat = true}, /* past the factors and summands that are left of normalisations */
    {.name = "transposes", .doc = "those that move nothing become views", .rewrites = hn_rules_transpose_views},
    {.name = "fold_constants", .doc = "evaluates what depends on constants only", .run = hn_pass_fold_constants},
    {.name = "fold_shapes", .doc = "turns reshape and its kin into views", .run = hn_pass_fold_shapes},
    {.name = "eliminate_dead", .doc = "removes what nobody uses", .run = hn_pass_eliminate_dead},
    {.name = "views",
     .doc = "moves views behind what the layer before them may absorb",
     .rewrites = hn_rules_views,
     .repeat = true},
    {.name = "fuse_conv", .doc = "what a convolution may absorb", .rewrites = hn_rules_conv, .repeat = true},
    {.name = "fuse_linear",
     .doc = "makes layers of matrix products with weights, and what those may absorb",
     .rewrites = hn_rules_linear,
     .repeat = true},
    {.name = "views",
     .doc = "moves views behind what the layer before them may absorb",
     .rewrites = hn_rules_views,
     .repeat = true}, /* behind products that have their bias by now */
    {.name = "fuse_linear",
     .doc = "makes layers of matrix products with weights, and what those may absorb",
     .rewrites = hn_rules_linear,
     .repeat = true},
    {.name = "fold_constants", .doc = "evaluates what depends on constants only", .run = hn_pass_fold_constants},
    {.name = "attention_inputs",
     .doc = "joins the layers of queries, keys and values, and reads them in place",
     .rewrites = hn_rules_attention_inputs,
     .repeat = true},
    {.name = "fold_constants", .doc = "evaluates what depends on constants only", .run = hn_pass_fold_constants},
    {.name = "nbits_beside",
     .doc = "joins products of one input whose weights have few bits",
     .rewrites = hn_rules_nbits_beside}, /* the constants that it joins are folded with the gates' */
    {.name = "gates", .doc = "makes slices of gates parts of splits", .rewrites = hn_rules_gates},
    {.name = "eliminate_dead", .doc = "removes what nobody uses", .run = hn_pass_eliminate_dead},
    {.name = "merge_common", .doc = "merges equal nodes and constants", .run = hn_pass_merge_common},
    {.name = "recurrent", .doc = "names steps of recurrent layers exported in pieces", .rewrites = hn_rules_recurrent},
    {.name = "recurrent",
     .doc = "those whose input's product is made for a sequence beforehand",
     .rewrites = hn_rules_recurrent_cut},
    {.name = "sequences", .doc = "joins such steps, and bodies of loops, over a sequence", .run = hn_pass_join_steps},
    {.name = "scans", .doc = "makes loops of scans; always on", .run = hn_pass_scans, .always = true},
    {.name = "fold_constants", .doc = "evaluates what depends on constants only", .run = hn_pass_fold_constants},
    {.name = "fold_shapes", .doc = "turns reshape and its kin into views", .run = hn_pass_fold_shapes},
    {.name = "eliminate_dead", .doc = "removes what nobody uses", .run = hn_pass_eliminate_dead},
    {.name = "merge_common", .doc = "merges equal nodes and constants", .run = hn_pass_merge_common},
    {.name = "planes",
     .doc = "moves channels behind planes before these are flattened, as some formats have them",
     .rewrites = hn_rules_planes},
    {.name = "definitions",
     .doc = "makes expressions of operators that the program defined; always on",
     .run = hn_pass_definitions,
     .always = true},
    {.name = "full_rank",
     .doc = "gives constants of elementwise nodes all axes, so that formats apply to them",
     .rewrites = hn_rules_full_rank},
    {.name = "group_elementwise",
     .doc = "joins elementwise nodes that feed each other",
     .run = hn_pass_group_elementwise},
    {.name = "conv_inputs",
     .doc = "takes normalisations into the convolution behind them",
     .rewrites = hn_rules_conv_inputs},
    {.name = "eliminate_dead", .doc = "removes what nobody uses", .run = hn_pass_eliminate_dead},
    {.name = "regions",
     .doc = "joins layers whose inner tensors need not leave the caches",
     .rewrites = hn_rules_regions},
    {.name = "region_beginnings", .doc = "joins what begins like such a chain", .rewrites = hn_rules_region_beginnings},
    {.name = "byte_regions", .doc = "joins what begins a network of bytes", .rewrites = hn_rules_byte_regions},
    {.name = "byte_beginnings", .doc = "the same without a pool", .rewrites = hn_rules_byte_beginnings},
    {.name = "widen",
     .doc = "computes in f32 what no device computes in the author's f16 or bf16",
     .run = hn_pass_widen},
    {.name = "own_outputs",
     .doc = "gives every output a producer of its own; always on",
     .run = hn_pass_own_outputs,
     .always = true},
};

const hn_pass *hn_pipeline(int *out_count) {
  *out_count = (int)HN_COUNT(passes);
  return passes;
}

bool hn_pass_disabled(const hn_pass_run *run, const char *name) {
  for (int i = 0; i < run->disable_count; ++i)
    if (hn_name_equal(run->disable[i], name)) return true;
  return false;
}

bool hn_pass_log_add(hn_pass_log *log, const char *pass, const char *rule, const char *node,
                     const char *unmet_or_null) {
  if (!hn_arena_grow(log->arena, (void **)&log->events, &log->capacity, log->count + 1, sizeof *log->events))
    return false;
  const char *name = hn_arena_text(log->arena, node);
  if (!name) return false;
  log->events[log->count++] =
      (hn_pass_event){.pass = pass, .rule = rule, .node = name, .fired = unmet_or_null == NULL, .unmet = unmet_or_null};
  return true;
}

hone_status hn_pass_log_event(hn_pass_run *run, const char *pass, const hn_node *node, const char *unmet) {
  if (run->log && !hn_pass_log_add(run->log, pass, pass, node->name, unmet)) return HN_FAIL_MEMORY(&run->context->diag);
  return HONE_OK;
}

/* ---- names given by users ---- */

/* Calls see(user, name) for every pass and, when wanted, every rule. */
static void each_name(const hn_plugin_rewrite *plugged, bool rules, void (*see)(void *user, const char *name),
                      void *user) {
  for (size_t i = 0; i < HN_COUNT(passes); ++i) {
    see(user, passes[i].name);
    for (const hn_rewrite *rule = rules ? passes[i].rewrites : NULL; rule && rule->name; ++rule) see(user, rule->name);
  }
  for (const hn_plugin_rewrite *known = rules ? plugged : NULL; known; known = known->next)
    see(user, known->rewrite->name);
}

typedef struct search {
  hn_near near;
  bool found;
} search;

static void look(void *user, const char *name) {
  search *s = user;
  s->found = s->found || strcmp(s->near.wanted, name) == 0;
  if (hn_is_near(s->near.wanted, name)) hn_near_add(&s->near, name);
}

static hone_status check_name(hn_pass_run *run, const char *name, bool rules) {
  const char *wanted = name ? name : "";
  search s = {.near = {.wanted = wanted, .length = strlen(wanted)}};
  each_name(run->context->plugin_rewrites, rules, look, &s);
  if (s.found) return HONE_OK;
  hn_text near;
  hn_text_init(&near, run->context->allocator);
  hn_near_tell(&s.near, &near);
  const hone_status status = HN_FAIL(&run->context->diag, HONE_INVALID, "no pass%s is named \"%.60s\"%s",
                                     rules ? " or rule" : "", wanted, hn_text_string(&near));
  hn_text_deinit(&near);
  return status;
}

static hone_status check_names(hn_pass_run *run, const char *after) {
  for (int i = 0; i < run->disable_count; ++i) {
    HN_TRY(check_name(run, run->disable[i], true));
    for (size_t k = 0; k < HN_COUNT(passes); ++k)
      if (passes[k].always && hn_name_equal(run->disable[i], passes[k].name))
        return HN_FAIL(&run->context->diag, HONE_INVALID, "%s cannot be disabled: what follows relies on it",
                       passes[k].name);
  }
  return after ? check_name(run, after, false) : HONE_OK;
}

/* ---- running ---- */

static hone_status run_pass(hn_pass_run *run, const hn_pass *pass) {
  const int64_t total = run->changes;
  run->changes = 0;
  HN_TRY(hn_check_stop(run->context));
  const int64_t begin_ns = hn_span_begin(&run->spans);
  const hone_status status =
      pass->rewrites ? hn_rewrite_run(run, pass->rewrites, pass->repeat, pass->name) : pass->run(run);
  if (status != HONE_OK) return hone_note(&run->context->diag, status, "in pass %s", pass->name);
  if (VERIFIES) HN_TRY_NOTE(&run->context->diag, hn_graph_verify(run->graph), "after pass %s", pass->name);
  hn_log(run->context, HONE_LOG_VERBOSE, "%s: %lld %s", pass->name, (long long)run->changes,
         pass->rewrites ? "rules fired" : "changes");
  hn_span_end(&run->spans, HONE_SPAN_PASS, pass->name, begin_ns, run->changes);
  run->changes += total;
  return HONE_OK;
}

hone_status hn_pipeline_run(hn_pass_run *run, const char *after) {
  HN_TRY(check_names(run, after));
  for (size_t i = 0; i < HN_COUNT(passes); ++i) {
    if (!hn_pass_disabled(run, passes[i].name)) HN_TRY(run_pass(run, &passes[i]));
    if (!hn_name_equal(passes[i].name, after)) continue; /* where it stands first */
    for (size_t k = 0; run->builds && k < HN_COUNT(passes); ++k)
      if (passes[k].always) HN_TRY(run_pass(run, &passes[k])); /* twice changes nothing */
    break;
  }
  return hn_pass_log_prune(run);
}
