/* SPDX-License-Identifier: Apache-2.0 */
/* rules_move.h - rules of operators that move, join or part elements, for the rows. */
#ifndef HN_PRUNE_RULES_MOVE_H
#define HN_PRUNE_RULES_MOVE_H

#include "prune/rules.h"

const char *hn_link_concat(const hn_linker *linker);
const char *hn_link_split(const hn_linker *linker);
const char *hn_link_slice(const hn_linker *linker);
const char *hn_link_transpose(const hn_linker *linker);
const char *hn_link_pad(const hn_linker *linker);
const char *hn_link_view(const hn_linker *linker);
const char *hn_link_reshape(const hn_linker *linker);
hone_status hn_recut_split(const hn_cut *cut, hn_node *node);
hone_status hn_recut_slice(const hn_cut *cut, hn_node *node);
hone_status hn_recut_reshape(const hn_cut *cut, hn_node *node);
hone_status hn_recut_resize(const hn_cut *cut, hn_node *node);

#endif
