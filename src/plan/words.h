/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - the names of places and step kinds in engine files. */
#ifndef HN_PLAN_WORDS_H
#define HN_PLAN_WORDS_H

#include "plan/plan.h"

const char *hn_place_name(hn_place place); /* "arena"; static */
bool hn_place_find(const char *name, hn_place *out);
const char *hn_step_kind_name(hn_step_kind kind); /* "call"; static */
bool hn_step_kind_find(const char *name, hn_step_kind *out);

#endif
