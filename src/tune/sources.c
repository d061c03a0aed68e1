/* SPDX-License-Identifier: Apache-2.0 */
/* sources.c - where tactics come from, by names that a build may leave out: the provider (a backend: CPU, REF, CUDA),
 * the vendor's library that a row calls (CUBLAS_LT), and on the host the instruction set that a row is written for
 * (AVX2).
 * "-NAME" leaves a source out, "+NAME" takes it back, the last word about a name counts. A tactic has several sources
 * and is asked when none of them is left out. */
#include "device/isa.h"
#include "tune/tuning.h"
#include <ctype.h>
#include <strings.h>

static const struct {
  const char *name;
  uint32_t bit;
} isa_rows[] = {
#define HN_ISA(suffix, name, f32, own, type, flags, features) {#name, HONE_ISA_##name},
#include "device/isa.inc"
#undef HN_ISA
};

/* The instruction set's row that the tactic needs most of; the first row is portable C. */
static const char *isa_name(const hone_device *device, const hone_tactic *tactic) {
  if (!device->facts.host_memory) return NULL;
  const char *name = NULL;
  for (size_t i = 0; i < HN_COUNT(isa_rows); ++i)
    if (tactic->isa & isa_rows[i].bit) name = isa_rows[i].name;
  return name;
}

static bool left_out(const hone_build_options *options, const char *source) {
  bool out = false;
  for (int i = 0; source && i < options->tactic_source_count; ++i)
    if (strcasecmp(options->tactic_sources[i] + 1, source) == 0) out = options->tactic_sources[i][0] == '-';
  return out;
}

bool hn_source_allowed(const hone_build_options *options, const hone_device *device, const hone_tactic *tactic) {
  return options->tactic_source_count == 0 ||
         (!left_out(options, device->backend->name) && !left_out(options, tactic->library) &&
          !left_out(options, isa_name(device, tactic)));
}

enum { MOST_SOURCES = 64 };
typedef struct source_list {
  const char *names[MOST_SOURCES];
  int count;
} source_list;

static bool holds(const source_list *list, const char *name) {
  for (int i = 0; i < list->count; ++i)
    if (strcasecmp(list->names[i], name) == 0) return true;
  return false;
}

static void add(source_list *list, const char *name) {
  if (name && list->count < MOST_SOURCES && !holds(list, name)) list->names[list->count++] = name;
}

/* Providers first, then what their rows name. */
static void list_sources(hone_device *const *devices, int device_count, source_list *out) {
  out->count = 0;
  for (int d = 0; d < device_count; ++d) add(out, devices[d]->backend->name);
  for (int d = 0; d < device_count; ++d)
    for (const hone_tactic *const *row = devices[d]->tactics; *row; ++row) {
      add(out, (*row)->library);
      add(out, isa_name(devices[d], *row));
    }
}

/* As users write them: CPU, REF, AVX2. */
static void write_names(const source_list *list, hn_text *out) {
  for (int i = 0; i < list->count; ++i) {
    hn_text_add(out, i ? ", " : " ");
    for (const char *c = list->names[i]; *c; ++c) hn_text_printf(out, "%c", toupper((unsigned char)*c));
  }
}

hone_status hn_sources_check(const hn_choices *choices, const hone_build_options *options) {
  if (options->tactic_source_count == 0) return HONE_OK;
  source_list known;
  list_sources(choices->devices, choices->device_count, &known);
  hone_status status = HONE_OK;
  hn_text names;
  hn_text_init(&names, choices->context->allocator);
  write_names(&known, &names);
  for (int i = 0; i < options->tactic_source_count; ++i) {
    const char *text = options->tactic_sources[i];
    const bool is_signed = text[0] == '+' || text[0] == '-';
    if (is_signed && holds(&known, text + 1)) continue;
    status = HN_FAIL(&choices->context->diag, HONE_INVALID, "tactic source %s: %s; the devices here have%s", text,
                     is_signed ? "there is none of that name" : "write +NAME or -NAME", hn_text_string(&names));
  }
  hn_text_deinit(&names);
  return status;
}
