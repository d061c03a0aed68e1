/* SPDX-License-Identifier: Apache-2.0 */
/* profiles.c - shapes for free dims, as the TensorRT provider's options have them:
 *   profile_min_shapes = "images:1x3x224x224,ids:1x8"
 * A name that is given again belongs to the next profile. */
#include "ep.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct text_part {
  const char *begin;
  size_t length;
} text_part;

static OrtStatus *fail_shape(const ort_calls *ort, const char *option, text_part part) {
  return ep_fail(ort, ORT_ERROR_INVALID_ARGUMENT,
                 "hone: option %s has \"%.*s\"; wanted is NAME:1x3x224x224, up to %d dims, separated by commas", option,
                 (int)(part.length < 200 ? part.length : 200), part.begin, HONE_MAX_RANK);
}

/* "1x3x224x224"; "" has no dims. */
static bool read_dims(text_part text, hone_shape *out) {
  const char *at = text.begin, *end = text.begin + text.length;
  *out = (hone_shape){0};
  while (at < end) {
    char *stop;
    errno = 0;
    const long long dim = strtoll(at, &stop, 10);
    if (stop == at || stop > end || errno != 0 || dim < 0 || out->rank == HONE_MAX_RANK || *at == '-' || *at == '+')
      return false;
    out->dim[out->rank++] = dim;
    if (stop < end && *stop != 'x') return false;
    at = stop < end ? stop + 1 : end;
    if (stop < end && at == end) return false;
  }
  return true;
}

static int count_parts(const char *text) {
  int count = *text != 0;
  for (; *text; ++text) count += *text == ',';
  return count;
}

/* The part's profile: how often the name stood in front of it. */
static ep_profile *find(ep_options *o, text_part name, int occurrence) {
  for (int i = 0; i < o->profile_count; ++i) {
    const ep_profile *p = &o->profiles[i];
    if (p->profile == occurrence && strlen(p->input) == name.length && !memcmp(p->input, name.begin, name.length))
      return &o->profiles[i];
  }
  return NULL;
}

static OrtStatus *read_part(const ort_calls *ort, const char *option, ep_options *o, text_part part, int bound,
                            int *counts) {
  const char *colon = NULL;
  hone_shape shape;
  for (size_t i = 0; i < part.length; ++i)
    if (part.begin[i] == ':') colon = part.begin + i;
  if (!colon || colon == part.begin) return fail_shape(ort, option, part);
  const text_part name = {part.begin, (size_t)(colon - part.begin)};
  if (!read_dims((text_part){colon + 1, part.length - name.length - 1}, &shape)) return fail_shape(ort, option, part);
  int occurrence = 0;
  while (find(o, name, occurrence) && counts[find(o, name, occurrence) - o->profiles] > bound) ++occurrence;
  ep_profile *profile = find(o, name, occurrence);
  if (!profile) {
    profile = &o->profiles[o->profile_count++];
    char *copy = ep_alloc(&o->arena, name.length + 1, 1);
    if (!copy) return ep_fail_memory(ort);
    *profile = (ep_profile){.input = memcpy(copy, name.begin, name.length), .profile = occurrence};
  }
  hone_shape *bounds[] = {&profile->min, &profile->opt, &profile->max};
  *bounds[bound] = shape;
  counts[profile - o->profiles] = bound + 1;
  return NULL;
}

static OrtStatus *read_all(const ort_calls *ort, const char *option, const char *text, ep_options *o, int bound,
                           int *counts) {
  while (*text) {
    const text_part part = {text, strcspn(text, ",")};
    EP_TRY(read_part(ort, option, o, part, bound, counts));
    text += part.length;
    text += *text == ',';
  }
  return NULL;
}

static OrtStatus *check(const ort_calls *ort, const ep_options *o, const int *counts) {
  for (int i = 0; i < o->profile_count; ++i) {
    const ep_profile *p = &o->profiles[i];
    bool right = counts[i] == 3 && p->min.rank == p->opt.rank && p->opt.rank == p->max.rank;
    for (int d = 0; right && d < p->opt.rank; ++d)
      right = p->min.dim[d] <= p->opt.dim[d] && p->opt.dim[d] <= p->max.dim[d];
    if (!right)
      return ep_fail(
          ort, ORT_ERROR_INVALID_ARGUMENT,
          "hone: input \"%s\", profile %d: profile_min_shapes, profile_opt_shapes and profile_max_shapes must "
          "each have it, with the same rank and min <= opt <= max",
          p->input, p->profile);
  }
  return NULL;
}

OrtStatus *ep_profiles_read(const ort_calls *ort, ep_options *o) {
  const int most = count_parts(o->profile_min) + count_parts(o->profile_opt) + count_parts(o->profile_max);
  int *counts = EP_NEW(&o->arena, int, most);
  o->profiles = EP_NEW(&o->arena, ep_profile, most);
  if (!counts || !o->profiles) return ep_fail_memory(ort);
  EP_TRY(read_all(ort, "profile_min_shapes", o->profile_min, o, 0, counts));
  EP_TRY(read_all(ort, "profile_opt_shapes", o->profile_opt, o, 1, counts));
  EP_TRY(read_all(ort, "profile_max_shapes", o->profile_max, o, 2, counts));
  return check(ort, o, counts);
}

const ep_profile *ep_profile_find(const ep_options *o, const char *input, int profile) {
  return find((ep_options *)o, (text_part){input, strlen(input)}, profile);
}
