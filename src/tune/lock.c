/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - the lock: one line a step, tab between the node's name and what runs it:
 *   NODE<TAB>provider:tactic@version{param=value,...} in=FORMAT out=FORMAT error=REL_L2
 *   NODE<TAB>parts
 * A line `[schedule K]` begins the lines of that schedule; what stands before the first of them is of schedule 0.
 * Lines that begin with # are comments. A node without a line is tuned; a line without a node is an error. */
#include "tensor/storage.h"
#include "base/hash.h"
#include "tune/tuning.h"
#include <string.h>

static const char parts[] = "parts"; /* the right side of a node that is to run as its parts */

static void put_candidate(hn_text *out, const hn_candidate *candidate) {
  hn_text_printf(out, "%s:%s@%u", candidate->provider, candidate->tactic->name, candidate->tactic->version);
  if (candidate->params.count) {
    hn_text_add(out, "{");
    for (int p = 0; p < candidate->params.count; ++p)
      hn_text_printf(out, "%s%s=%lld", p ? "," : "", candidate->params.items[p].name,
                     (long long)candidate->params.items[p].value);
    hn_text_add(out, "}");
  }
  hn_text_printf(out, " in=%s out=%s", hn_storage_name(candidate->storages.in),
                 hn_storage_name(candidate->storages.out));
}

hone_status hn_lock_write(const hn_choices *choices, hn_text *out) {
  for (int i = 0; i < choices->split_count; ++i) hn_text_printf(out, "%s\t%s\n", choices->splits[i].node, parts);
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    if (!hn_choice_runs(choice)) continue;
    const hn_candidate *candidate = &choice->candidates[choice->chosen];
    hn_text_printf(out, "%s\t", choice->node->name);
    put_candidate(out, candidate);
    if (candidate->error_rel_l2 >= 0) hn_text_printf(out, " error=%.3g", candidate->error_rel_l2);
    hn_text_add(out, "\n");
  }
  return out->failed ? HN_FAIL_MEMORY(&choices->context->diag) : HONE_OK;
}

/* Where the wanted text ends: before " error=", which only informs. */
static size_t wanted_length(const char *line, size_t length) {
  static const char mark[] = " error=";
  for (size_t i = 0; i + sizeof mark - 1 <= length; ++i)
    if (memcmp(line + i, mark, sizeof mark - 1) == 0) return i;
  while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\r')) --length;
  return length;
}

/* The candidate that a line names: the same text as would be written for it. The storages may be left out. */
static int find_candidate(const hn_choices *choices, const hn_choice *choice, const char *wanted, size_t length) {
  hn_text text;
  hn_text_init(&text, choices->context->allocator);
  int found = -1, by_name = -1;
  for (int k = 0; k < choice->candidate_count; ++k) {
    hn_text_clear(&text);
    put_candidate(&text, &choice->candidates[k]);
    const char *shown = hn_text_string(&text);
    if (text.length == length && memcmp(shown, wanted, length) == 0) found = k;
    const size_t stem = strcspn(shown, "{ ");
    if (by_name < 0 && length >= stem && memcmp(shown, wanted, stem) == 0 &&
        !hn_candidate_usable(&choice->candidates[k]))
      by_name = k; /* rejected before variants were asked for */
  }
  hn_text_deinit(&text);
  return found >= 0 ? found : by_name;
}

static hone_status apply_line(hn_choices *choices, hn_choice *choice, const char *what, int line_number,
                              const char *wanted, size_t length) {
  hone_diagnostics *diag = &choices->context->diag;
  const int k = find_candidate(choices, choice, wanted, length);
  if (k < 0)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "%s:%d: node %s has no tactic %.*s here", what, line_number,
                   choice->node->name, (int)length, wanted);
  if (!hn_candidate_usable(&choice->candidates[k]))
    return HN_FAIL(diag, HONE_UNSUPPORTED, "%s:%d: node %s cannot run on %s: %s", what, line_number, choice->node->name,
                   choice->candidates[k].tactic->name, choice->candidates[k].reason);
  choice->chosen = k;
  choice->locked = true;
  return HONE_OK;
}

/* One line of a lock: the node's name, copied, and what stands after the tab. */
typedef struct lock_line {
  int number;
  char name[512];
  const char *wanted;
  size_t wanted_length;
  bool broken; /* no tab, or a name that is too long */
} lock_line;

static const char section[] = "[schedule ";

/* One line of the text without its end; false when there is none. */
static bool read_line(const char *text, size_t length, size_t *at, const char **out, size_t *out_length) {
  if (*at >= length) return false;
  const char *line = text + *at, *end = memchr(line, '\n', length - *at);
  *out = line;
  *out_length = end ? (size_t)(end - line) : length - *at;
  *at += *out_length + 1;
  return true;
}

/* `[schedule K]`; -1: another line. */
static int section_of(const char *line, size_t length) {
  const size_t stem = sizeof section - 1;
  if (length > 0 && line[length - 1] == '\r') --length;
  if (length < stem + 2 || length > stem + 4 || memcmp(line, section, stem) != 0 || line[length - 1] != ']') return -1;
  int number = 0;
  for (size_t i = stem; i + 1 < length; ++i) {
    if (line[i] < '0' || line[i] > '9') return -1;
    number = number * 10 + (line[i] - '0');
  }
  return number;
}

hone_status hn_lock_find(hone_context *context, const hn_lock *whole, int schedule, int schedule_count, hn_lock *out) {
  *out = (hn_lock){.path = whole->path, .text = whole->text};
  const char *line;
  size_t line_length;
  int number = 0, now = 0;
  bool any = false;
  for (size_t at = 0; read_line(whole->text, whole->length, &at, &line, &line_length);) {
    const int next = section_of(line, line_length);
    ++number;
    if (next >= 0 && (next >= schedule_count || (any && next <= now)))
      return HN_FAIL(&context->diag, HONE_INVALID, "%s:%d: schedule %d %s", whole->path, number, next,
                     next >= schedule_count ? "is not built here" : "stands behind a later one");
    if (next >= 0) {
      now = next;
      any = true;
      if (now == schedule && now > 0) *out = (hn_lock){.path = whole->path, .text = line, .lines_before = number - 1};
    }
    if (now == schedule) out->length = (size_t)(line + line_length - out->text);
  }
  return HONE_OK;
}

/* The next line that says something of a node. */
static bool next_line(const hn_lock *lock, size_t *at, lock_line *out) {
  const char *line;
  size_t line_length;
  while (read_line(lock->text, lock->length, at, &line, &line_length)) {
    ++out->number;
    if (line_length == 0 || line[0] == '#' || line[0] == '\r' || section_of(line, line_length) >= 0) continue;
    const char *tab = memchr(line, '\t', line_length);
    out->broken = !tab || (size_t)(tab - line) >= sizeof out->name;
    if (out->broken) return true;
    memcpy(out->name, line, (size_t)(tab - line));
    out->name[tab - line] = 0;
    out->wanted = tab + 1;
    out->wanted_length = wanted_length(tab + 1, line_length - (size_t)(tab + 1 - line));
    return true;
  }
  return false;
}

static bool wants_parts(const lock_line *line) {
  return !line->broken && line->wanted_length == sizeof parts - 1 && memcmp(line->wanted, parts, sizeof parts - 1) == 0;
}

hn_node *hn_lock_next_split(const hone_graph *graph, const hn_lock *lock) {
  lock_line line = {0};
  for (size_t at = 0; next_line(lock, &at, &line);) {
    if (!wants_parts(&line)) continue;
    for (hn_node *node = graph->main->first; node; node = node->next)
      if (strcmp(node->name, line.name) == 0 && hn_node_can_split(node)) return node;
  }
  return NULL;
}

static hone_status apply_text(hn_choices *choices, const hn_table *table, const hn_lock *lock) {
  hone_status status = HONE_OK;
  const char *what = lock->path;
  lock_line line = {.number = lock->lines_before};
  for (size_t at = 0; next_line(lock, &at, &line);) {
    if (line.broken)
      return HN_FAIL(&choices->context->diag, HONE_INVALID, "%s:%d: a line is NODE, a tab, and a tactic", what,
                     line.number);
    if (wants_parts(&line)) continue; /* done already */
    hn_choice *choice = hn_table_get(table, line.name);
    if (!choice)
      return HN_FAIL(&choices->context->diag, HONE_INVALID, "%s:%d: the graph has no node %s", what, line.number,
                     line.name);
    const hone_status one = apply_line(choices, choice, what, line.number, line.wanted, line.wanted_length);
    if (one != HONE_OK) status = one;
  }
  return status;
}

hone_status hn_lock_apply(hn_choices *choices, const hn_lock *lock) {
  hn_table table;
  hn_table_init(&table, &choices->arena);
  for (int i = 0; i < choices->count; ++i)
    if (hn_choice_runs(&choices->items[i]) && !hn_table_put(&table, choices->items[i].node->name, &choices->items[i]))
      return HN_FAIL_MEMORY(&choices->context->diag);
  return apply_text(choices, &table, lock);
}
