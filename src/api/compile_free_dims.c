/* SPDX-License-Identifier: Apache-2.0 */
/* compile_free_dims.c - what to give where nothing was given: a build that failed while free dims were taken as 1 tells
 * which they are, with sizes that work. */
#include "api/compile.h"
#include "tensor/shape.h"

/* Usual ones first: of images, of sounds, then what small networks need. */
static const int64_t sizes[] = {224, 256, 320, 640, 512, 1024, 128, 64, 32, 16, 8, 4, 2, 2048, 4096, 16000};

enum { MOST_TOTALS = 8 }; /* dims that are taken for a total, one after another */

typedef struct suggestion {
  const hone_graph *graph;
  const hone_build_options *options;
  int profile;
  bool batches;    /* those are sized as well */
  int64_t doubled; /* this dim is twice the others; 0: none */
} suggestion;

/* A batch stays 1: what some input of several dims counts in its first. */
static bool is_batch(const hone_graph *graph, int64_t dim) {
  for (int i = 0; i < graph->main->param_count; ++i) {
    const hone_shape *shape = &graph->main->params[i]->fact.type.shape;
    if (shape->rank > 1 && shape->dim[0] == dim) return true;
  }
  return false;
}

static bool is_sized(const suggestion *s, int input, int axis) {
  const hn_value *value = s->graph->main->params[input];
  const int64_t dim = value->fact.type.shape.dim[axis];
  if (!HONE_SYMBOLIC(dim) || hn_profile_shape(s->options, s->profile, value->name)) return false;
  return s->batches || !is_batch(s->graph, dim);
}

static int set_sizes(const suggestion *s, int64_t size, const hn_ranges *ranges) {
  int count = 0;
  for (int i = 0; i < s->graph->main->param_count; ++i)
    for (int d = 0; d < s->graph->main->params[i]->fact.type.shape.rank; ++d)
      if (is_sized(s, i, d)) {
        const bool doubled = s->graph->main->params[i]->fact.type.shape.dim[d] == s->doubled;
        ranges->min[i].dim[d] = ranges->opt[i].dim[d] = ranges->max[i].dim[d] = doubled ? 2 * size : size;
        ++count;
      }
  return count;
}

static int count_sized(const suggestion *s, int input) {
  int count = 0;
  for (int d = 0; d < s->graph->main->params[input]->fact.type.shape.rank; ++d) count += is_sized(s, input, d);
  return count;
}

/* input "x": dims 2 and 3 are free */
static void add_dims(const suggestion *s, int input, hn_text *text) {
  const int count = count_sized(s, input);
  hn_text_printf(text, "%sinput \"%s\": dim%s ", text->length ? "; " : "", s->graph->main->params[input]->name,
                 count > 1 ? "s" : "");
  for (int d = 0, told = 0; told < count; ++d)
    if (is_sized(s, input, d)) hn_text_printf(text, "%s%d", ++told == 1 ? "" : told == count ? " and " : ", ", d);
  hn_text_printf(text, " %s free", count > 1 ? "are" : "is");
}

/* x:1x3x640x640, or with ? where no size is known to work */
static void add_example(const suggestion *s, const hn_ranges *ranges, bool known, hn_text *text) {
  const char *between = "";
  for (int i = 0; i < s->graph->main->param_count; ++i) {
    if (!count_sized(s, i)) continue;
    hn_text_printf(text, "%s%s:", between, s->graph->main->params[i]->name);
    for (int d = 0; d < ranges->opt[i].rank; ++d) {
      hn_text_add(text, d ? "x" : "");
      if (!known && is_sized(s, i, d))
        hn_text_add(text, "?");
      else
        hn_text_printf(text, "%lld", (long long)ranges->opt[i].dim[d]);
    }
    between = ",";
  }
}

static void tell(hone_context *context, const suggestion *s, const hn_ranges *ranges, bool known, hone_status status) {
  hn_text text;
  hn_text_init(&text, context->allocator);
  for (int i = 0; i < s->graph->main->param_count; ++i)
    if (count_sized(s, i)) add_dims(s, i, &text);
  hn_text_add(&text, known ? "; give them, for example --shapes " : " and taken as 1; give them: --shapes ");
  add_example(s, ranges, known, &text);
  if (!text.failed)
    (void)HN_FAIL(&context->diag, status, "%s (in the library: hone_build_options.shapes)", hn_text_string(&text));
  hn_text_deinit(&text);
}

/* What the tries complain of is not the caller's. */
static bool fits(hone_context *context, const suggestion *s, int64_t size, const hn_ranges *ranges,
                 const hn_size_tries *tries) {
  hone_diagnostics *diag = &context->diag;
  const int count = diag->count, dropped = diag->dropped;
  if (!set_sizes(s, size, ranges) || hn_stop_now(&context->stop)) return false;
  const bool yes = tries->works(tries->user, ranges);
  diag->count = count;
  diag->dropped = dropped;
  return yes;
}

static bool find_size(hone_context *context, const suggestion *s, const hn_ranges *ranges, const hn_size_tries *tries) {
  for (size_t i = 0; i < HN_COUNT(sizes); ++i)
    if (fits(context, s, sizes[i], ranges, tries)) return true;
  return false;
}

/* One dim counts what was there and what is new, as the mask of a decoder that has a cache: those are one each, or
 * eight. */
static bool find_total(hone_context *context, suggestion *s, const hn_ranges *ranges, const hn_size_tries *tries) {
  static const int64_t parts[] = {1, 8};
  int64_t tried[MOST_TOTALS];
  int count = 0;
  for (int i = 0; i < s->graph->main->param_count; ++i)
    for (int d = 0; d < s->graph->main->params[i]->fact.type.shape.rank; ++d) {
      bool known = count == MOST_TOTALS || !is_sized(s, i, d);
      s->doubled = s->graph->main->params[i]->fact.type.shape.dim[d];
      for (int k = 0; !known && k < count; ++k) known = tried[k] == s->doubled;
      if (known) continue;
      tried[count++] = s->doubled;
      for (size_t k = 0; k < HN_COUNT(parts); ++k)
        if (fits(context, s, parts[k], ranges, tries)) return true;
    }
  s->doubled = 0;
  return false;
}

hone_status hn_profiles_suggest(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                                int profile, const hn_ranges *ranges, hone_status status, const hn_size_tries *tries) {
  suggestion s = {.graph = graph, .options = options, .profile = profile};
  if (status != HONE_INVALID && status != HONE_MALFORMED) return status;
  bool found = find_size(context, &s, ranges, tries) || find_total(context, &s, ranges, tries);
  if (!found) {
    s.batches = true;
    found = find_size(context, &s, ranges, tries);
  }
  s.batches = s.batches && found;
  if (found && tries->takes) return HONE_OK;
  if (found || set_sizes(&s, 1, ranges)) tell(context, &s, ranges, found, status);
  return status;
}
