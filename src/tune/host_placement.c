/* SPDX-License-Identifier: Apache-2.0 */
/* host_placement.c - what stays in the host's memory though another device was asked for: groups of neighbours that
 * move or change elements one by one, beside a step that only the host runs, without any step that computes more.
 * Sending them away would cost copies there and back, and save nothing: an activation between two convolutions of the
 * host. */
#include "tune/tuning.h"

typedef struct staying {
  hn_choices *choices;
  int *parent;    /* [choice]: of its group (union and find) */
  int *choice_of; /* [value id]: what makes it; -1: none */
  bool *away;     /* [choice]: another device's candidate is usable, or it is a view */
  bool *heavy, *beside_host;
} staying;

static int group_of(const staying *s, int c) {
  while (s->parent[c] != c) c = s->parent[c] = s->parent[s->parent[c]];
  return c;
}

static bool can_go(const hn_choices *choices, const hn_choice *choice) {
  for (int k = 0; k < choice->candidate_count; ++k)
    if (hn_candidate_usable(&choice->candidates[k]) &&
        !choices->devices[choice->candidates[k].device]->facts.host_memory)
      return true;
  return choice->view;
}

static bool can_stay(const hn_choices *choices, const hn_choice *choice) {
  for (int k = 0; k < choice->candidate_count; ++k)
    if (hn_candidate_usable(&choice->candidates[k]) &&
        choices->devices[choice->candidates[k].device]->facts.host_memory)
      return true;
  return false;
}

static bool start(staying *s) {
  hn_choices *choices = s->choices;
  const int count = choices->count + 1;
  s->parent = HN_NEW(&choices->arena, int, count);
  s->choice_of = HN_NEW(&choices->arena, int, choices->graph->value_count + 1);
  s->away = HN_NEW(&choices->arena, bool, count);
  s->heavy = HN_NEW(&choices->arena, bool, count);
  s->beside_host = HN_NEW(&choices->arena, bool, count);
  if (!s->parent || !s->choice_of || !s->away || !s->heavy || !s->beside_host) return false;
  for (int v = 0; v < choices->graph->value_count; ++v) s->choice_of[v] = -1;
  for (int c = 0; c < choices->count; ++c) {
    const hn_node *node = choices->items[c].node;
    s->parent[c] = c;
    s->away[c] = can_go(choices, &choices->items[c]);
    for (int o = 0; o < node->out_count; ++o)
      if (node->out[o]) s->choice_of[node->out[o]->id] = c;
  }
  return true;
}

/* visit(s, maker, reader) for every value that one step hands to another. */
static void each_edge(staying *s, void (*visit)(staying *s, int maker, int reader)) {
  for (int c = 0; c < s->choices->count; ++c) {
    const hn_node *node = s->choices->items[c].node;
    for (int i = 0; i < node->in_count; ++i) {
      const hn_value *value = node->in[i];
      if (value && !value->fact.constant && s->choice_of[value->id] >= 0) visit(s, s->choice_of[value->id], c);
    }
  }
}

static void join(staying *s, int maker, int reader) {
  if (s->away[maker] && s->away[reader]) s->parent[group_of(s, reader)] = group_of(s, maker);
}

static void mark_border(staying *s, int maker, int reader) {
  if (s->away[maker] != s->away[reader]) s->beside_host[group_of(s, s->away[maker] ? maker : reader)] = true;
}

hone_status hn_tune_place_on_host(hn_choices *choices) {
  bool apart = false;
  for (int d = 0; d < choices->device_count; ++d) apart = apart || !choices->devices[d]->facts.host_memory;
  if (!apart) return HONE_OK;
  staying s = {.choices = choices};
  if (!start(&s)) return HN_FAIL_MEMORY(&choices->context->diag);
  each_edge(&s, join);
  each_edge(&s, mark_border);
  for (int c = 0; c < choices->count; ++c) {
    const hn_choice *choice = &choices->items[c];
    const bool light =
        choice->view || (choice->node->op->traits & (HONE_ELEMENTWISE | HONE_MOVES) && can_stay(choices, choice));
    if (s.away[c] && !light) s.heavy[group_of(&s, c)] = true;
  }
  for (int c = 0; c < choices->count; ++c) {
    const int group = group_of(&s, c);
    choices->items[c].on_host = s.away[c] && s.beside_host[group] && !s.heavy[group];
  }
  return HONE_OK;
}
