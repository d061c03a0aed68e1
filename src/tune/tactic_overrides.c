/* SPDX-License-Identifier: Apache-2.0 */
/* tactic_overrides.c - tactics asked for by name: "NODE=TACTIC[:param=value,...]", both sides globs of fnmatch(3), the
 * last one that names a node counts; "NODE=parts" asks for the parts of a fused node. What is asked for must be there
 * and accept: else the call fails and names what is near or why not. */
#include "tensor/storage.h"
#include "tune/tuning.h"
#include "base/text.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Node names may hold '=' and ':'; tactics' names neither. Parameters are the longest tail of name=number,... after a
 * colon. */
static const char *params_of(const char *text) {
  const char *colon = strrchr(text, ':');
  if (!colon || !strchr(colon, '=')) return NULL;
  for (const char *at = colon + 1; *at;) {
    const size_t name = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
    if (name == 0 || at[name] != '=') return NULL;
    char *end;
    (void)strtoll(at + name + 1, &end, 10);
    if (end == at + name + 1 || (*end && *end != ',')) return NULL;
    at = *end ? end + 1 : end;
  }
  return colon + 1;
}

/* Splits an option; node is a copy in room. false: it is none of that form, or too long. */
static bool split(const char *text, char *node, size_t room, hn_tactic_override *out) {
  *out = (hn_tactic_override){.params = params_of(text)};
  const size_t length = out->params ? (size_t)(out->params - 1 - text) : strlen(text);
  size_t equals = length;
  while (equals > 0 && text[equals - 1] != '=') --equals;
  if (equals < 2 || equals > room) return false;
  memcpy(node, text, equals - 1);
  node[equals - 1] = 0;
  out->tactic = text + equals;
  out->tactic_length = length - equals;
  out->params_length = out->params ? strlen(out->params) : 0;
  out->glob = strpbrk(node, "*?[") != NULL;
  return out->tactic_length > 0;
}

static bool is_parts(const hn_tactic_override *wanted) {
  return wanted->tactic_length == 5 && memcmp(wanted->tactic, "parts", 5) == 0;
}

static bool names(const char *pattern, const char *name) {
  return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

bool hn_tactic_override_find(const hone_build_options *options, const char *node, hn_tactic_override *out) {
  char pattern[512];
  for (int i = options->tactic_count - 1; i >= 0; --i)
    if (split(options->tactics[i], pattern, sizeof pattern, out) && !is_parts(out) && names(pattern, node)) return true;
  return false;
}

bool hn_tactic_override_parts(const hone_build_options *options, const char *node) {
  char pattern[512];
  hn_tactic_override wanted;
  for (int i = 0; i < options->tactic_count; ++i)
    if (split(options->tactics[i], pattern, sizeof pattern, &wanted) && is_parts(&wanted) && names(pattern, node))
      return true;
  return false;
}

bool hn_tactic_override_names(const hn_tactic_override *wanted, const char *tactic) {
  char pattern[256];
  if (wanted->tactic_length >= sizeof pattern) return false;
  memcpy(pattern, wanted->tactic, wanted->tactic_length);
  pattern[wanted->tactic_length] = 0;
  return names(pattern, tactic);
}

static bool has_param(const hone_params *params, const char *name, size_t length, int64_t value) {
  for (int i = 0; i < params->count; ++i)
    if (strlen(params->items[i].name) == length && memcmp(params->items[i].name, name, length) == 0)
      return params->items[i].value == value;
  return false;
}

bool hn_tactic_override_allows(const hn_tactic_override *wanted, const hone_params *params) {
  for (const char *at = wanted->params; at && *at;) {
    const size_t name = strcspn(at, "=");
    char *end;
    const int64_t value = strtoll(at + name + 1, &end, 10);
    if (!has_param(params, at, name, value)) return false;
    at = *end ? end + 1 : end;
  }
  return true;
}

static void add_near(const hn_choice *choice, const hn_tactic_override *wanted, hn_text *out) {
  hn_near near = {.wanted = wanted->tactic, .length = wanted->tactic_length};
  for (int k = 0; k < choice->candidate_count; ++k) hn_near_add(&near, choice->candidates[k].tactic->name);
  hn_near_tell(&near, out);
}

static bool has_wanted(const hn_choice *choice, const hn_tactic_override *wanted) {
  for (int k = 0; k < choice->candidate_count; ++k)
    if (hn_candidate_usable(&choice->candidates[k]) &&
        hn_tactic_override_names(wanted, choice->candidates[k].tactic->name) &&
        hn_tactic_override_allows(wanted, &choice->candidates[k].params))
      return true;
  return false;
}

/* The call's error when a node cannot run as asked for. */
static hone_status fail_choice(const hn_choices *choices, const hn_choice *choice, const hn_tactic_override *wanted) {
  hn_text reasons;
  hn_text_init(&reasons, choices->context->allocator);
  int named = 0;
  const char *last = NULL;
  for (int k = 0; k < choice->candidate_count; ++k) {
    const hn_candidate *candidate = &choice->candidates[k];
    if (!hn_tactic_override_names(wanted, candidate->tactic->name)) continue;
    if (named++ < 4 && candidate->reason && candidate->reason != last)
      hn_text_printf(&reasons, "\n  %s, %s to %s: %s", candidate->tactic->name, hn_storage_name(candidate->storages.in),
                     hn_storage_name(candidate->storages.out), last = candidate->reason);
  }
  if (named == 0) add_near(choice, wanted, &reasons);
  const hone_status status = HN_FAIL(
      &choices->context->diag, named ? HONE_UNSUPPORTED : HONE_INVALID, "node %s (%s) %s %.*s%s%s%s",
      choice->node->name, choice->node->op->name, named ? "cannot run on" : "has no tactic", (int)wanted->tactic_length,
      wanted->tactic, wanted->params ? ":" : "", wanted->params ? wanted->params : "", hn_text_string(&reasons));
  hn_text_deinit(&reasons);
  return status;
}

static hone_status check_option(const hn_choices *choices, const char *option) {
  char pattern[512];
  hn_tactic_override wanted;
  if (!split(option, pattern, sizeof pattern, &wanted))
    return HN_FAIL(&choices->context->diag, HONE_INVALID, "%s: a choice is NODE=TACTIC[:param=value,...]", option);
  if (is_parts(&wanted)) return HONE_OK; /* that node is gone, or was never fused: tune.c tells */
  const hn_choice *unfit = NULL;
  int fitting = 0;
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    hn_tactic_override last;
    if (!hn_choice_runs(choice) || !names(pattern, choice->node->name)) continue;
    const bool overruled =
        !hn_tactic_override_find(choices->tuning->options, choice->node->name, &last) || last.tactic != wanted.tactic;
    if (overruled || has_wanted(choice, &wanted))
      ++fitting;
    else if (!unfit || !unfit->candidate_count)
      unfit = choice;
  }
  if (unfit && (!wanted.glob || fitting == 0)) return fail_choice(choices, unfit, &wanted);
  if (fitting > 0) return HONE_OK;
  return HN_FAIL(&choices->context->diag, HONE_INVALID,
                 "%s: the optimised graph has no such node; a choice is NODE=TACTIC", option);
}

hone_status hn_tactic_overrides_check(const hn_choices *choices, const hone_build_options *options) {
  hone_status status = HONE_OK;
  for (int i = 0; i < options->tactic_count && choices->root == choices->graph->main; ++i) {
    const hone_status one = check_option(choices, options->tactics[i]);
    if (one != HONE_OK) status = one;
  }
  return status;
}
