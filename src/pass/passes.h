/* SPDX-License-Identifier: Apache-2.0 */
/* passes.h - the passes that the pipeline lists: functions, and lists of rules (which end with name NULL). */
#ifndef HN_PASS_PASSES_H
#define HN_PASS_PASSES_H

#include "pass/rewrite.h"

extern const hn_rewrite hn_rules_cleanup[], hn_rules_recognise[], hn_rules_attention[], hn_rules_attention_heads[],
    hn_rules_attention_inputs[], hn_rules_transposes[], hn_rules_transpose_views[], hn_rules_planes[], hn_rules_conv[],
    hn_rules_linear[], hn_rules_slices[], hn_rules_parts[], hn_rules_channels[], hn_rules_pieces[], hn_rules_views[],
    hn_rules_full_rank[], hn_rules_gates[], hn_rules_recurrent[], hn_rules_einsum[], hn_rules_shorthand[],
    hn_rules_conv_inputs[], hn_rules_recurrent_cut[], hn_rules_quantised[], hn_rules_quantised_moves[],
    hn_rules_quantised_linear[], hn_rules_quantised_sums[], hn_rules_dynamic[], hn_rules_nbits[],
    hn_rules_nbits_beside[], hn_rules_subpixel[];

/* Not of the pipeline: what quantising makes of a graph before it looks for layers. */
extern const hn_rewrite hn_rules_subpixel_apart[];

hone_status hn_pass_fold_constants(hn_pass_run *run);
hone_status hn_pass_fold_branches(hn_pass_run *run);
hone_status hn_pass_fold_shapes(hn_pass_run *run);
hone_status hn_pass_eliminate_dead(hn_pass_run *run);
hone_status hn_pass_merge_common(hn_pass_run *run);
hone_status hn_pass_join_steps(hn_pass_run *run);
hone_status hn_pass_scans(hn_pass_run *run);
hone_status hn_pass_group_elementwise(hn_pass_run *run);
hone_status hn_pass_quantised_ends(hn_pass_run *run);
hone_status hn_pass_quantised_concats(hn_pass_run *run);
hone_status hn_pass_byte_tables(hn_pass_run *run);
hone_status hn_pass_widen(hn_pass_run *run);
hone_status hn_pass_own_outputs(hn_pass_run *run);
hone_status hn_pass_plugins(hn_pass_run *run);
hone_status hn_pass_definitions(hn_pass_run *run);
/* What a plug-in's rewrite says of a match: NULL when it holds. */
const char *hn_guest_unmet(const hn_match *match, const struct hone_rewrite *rewrite);

extern const hn_rewrite hn_rules_regions[], hn_rules_region_beginnings[], hn_rules_byte_regions[],
    hn_rules_byte_beginnings[];

/* Folds nodes that a rule has made, [first, end), so that other rules see constants. */
hone_status hn_fold_made(hn_pass_run *run, hn_node *first, const hn_node *end);

/* A fact for `hone explain`; unmet NULL: it fired. */
hone_status hn_pass_log_event(hn_pass_run *run, const char *pass, const hn_node *node, const char *unmet);

/* Drops near misses that no longer mean anything: of nodes that are gone, told twice, or overtaken by a firing. */
hone_status hn_pass_log_prune(hn_pass_run *run);

#endif
