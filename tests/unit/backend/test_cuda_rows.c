/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_rows.c - what rows of the CUDA backend say without a GPU: on every case of tests/gpu, in every storage, the
 * variants are the same whatever the device's facts (an engine's file is checked with the row's own), plan needs the
 * same each time and fits its state, and pack stays within what plan says. Skipped where the module was not built. */
#include "guarded.h"
#include "support/gpu_case.h"
#include "device/device.h"
#include "ir/graph.h"
#include "tensor/storage.h"
#include <dlfcn.h>
#include <hone/plugin.h>

static gpu_bed bed;

#include "gpu/cases_half.inc"
#include "gpu/cases_bytes.inc"

enum { PORTS = 32, MOST_VARIANTS = 16 };

typedef struct tally {
  int pairs, variants, packed; /* accepted */
} tally;

static const hone_plugin_table *open_module(void) {
  char path[4096];
  const char *folder = getenv("HONE_BUILD_DIR");
  snprintf(path, sizeof path, "%s/libhone_backend_cuda.so", folder ? folder : "build/release");
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol = library ? dlsym(library, "hone_plugin") : NULL;
  const hone_plugin_table *(*entry)(const hone_host *host);
  if (!symbol) return NULL;
  memcpy(&entry, &symbol, sizeof entry);
  return entry(NULL); /* the rows are data; a host is for who opens a device */
}

/* The state lies against a page that may not be touched. */
static void try_variant(const hone_query *query, tally *t) {
  const hone_tactic *row = query->tactic;
  hone_needs needs, again;
  if (hn_tactic_plan(query, NULL, &needs)) return;
  ++t->variants;
  guarded state = guarded_new(needs.state);
  memset(state.data, 0, needs.state);
  assert_null(hn_tactic_plan(query, state.data, &again));
  if (needs.state != again.state || needs.scratch != again.scratch || needs.packed != again.packed)
    fail_msg("%s needs other bytes when it is asked again", row->name);
  if (!guarded_is_whole(&state)) fail_msg("%s writes outside of its state", row->name);
  if (needs.packed > 0) {
    guarded packed = guarded_new(needs.packed);
    memset(packed.data, 0, needs.packed);
    assert_int_equal(row->pack(query, packed.data), HONE_OK);
    if (!guarded_is_whole(&packed)) fail_msg("%s writes outside of its packed bytes", row->name);
    guarded_free(&packed);
    ++t->packed;
  }
  guarded_free(&state);
}

static void try_pair(hone_query *query, tally *t) {
  const hone_tactic *row = query->tactic;
  hone_params own[MOST_VARIANTS] = {0}, all[MOST_VARIANTS] = {0};
  const hone_facts own_facts = {.isa = row->isa, .threads = 1};
  const hone_facts all_facts = {.isa = UINT32_MAX, .threads = 132, .l2_bytes = 60 << 20, .roofs = {1e14, 5e13}};
  int count = 1;
  query->params = NULL;
  query->facts = &all_facts;
  if (row->variants) count = row->variants(query, all, MOST_VARIANTS);
  query->facts = &own_facts;
  if (row->variants && row->variants(query, own, MOST_VARIANTS) != count)
    fail_msg("%s: %s has other variants with its own facts alone", query->op->name, row->name);
  for (int v = 0; v < count; ++v) {
    if (!hn_params_equal(&own[v], &all[v]))
      fail_msg("%s: %s has another variant %d with its own facts alone", query->op->name, row->name, v);
    query->params = &own[v];
    try_variant(query, t);
  }
  ++t->pairs;
}

static void try_row(const hone_tactic *row, const hn_node *node, tally *t) {
  for (int f = 0; f < HONE_MAX_STORAGE_PAIRS; ++f) {
    hone_fact in[PORTS] = {0}, out[PORTS] = {0};
    hone_query query = {.tactic = row,
                        .op = node->op,
                        .attrs = &node->attrs,
                        .in_count = node->in_count,
                        .out_count = node->out_count,
                        .in = in,
                        .out = out};
    if (f > 0 && row->storages[f].in == HONE_PLAIN && row->storages[f].out == HONE_PLAIN) break;
    assert_true(node->in_count <= PORTS && node->out_count <= PORTS);
    for (int i = 0; i < node->in_count; ++i) {
      if (node->in[i]) in[i] = node->in[i]->fact;
      if (in[i].constant) query.constant_mask |= 1u << i;
    }
    for (int i = 0; i < node->out_count; ++i) out[i] = node->out[i]->fact;
    hn_query_apply_storages(node->op, &row->storages[f], in, node->in_count, out, node->out_count);
    try_pair(&query, t);
  }
}

static void test_rows(void **state) {
  const size_t halves = sizeof cases / sizeof *cases, bytes = sizeof byte_cases / sizeof *byte_cases;
  const hone_plugin_table *table = *state;
  tally t = {0};
  for (size_t k = 0; k < halves + bytes; ++k) {
    hone_graph *graph = gpu_graph(&bed, k < halves ? &cases[k] : &byte_cases[k - halves]);
    for (const hone_tactic *const *family = table->backends[0]->families; *family; ++family)
      for (const hone_tactic *row = *family; row->name; ++row)
        if (hn_tactic_covers(row, graph->main->first->op)) try_row(row, graph->main->first, &t);
    hone_graph_destroy(graph);
  }
  print_message("%d pairs of row and storages, %d variants accepted, %d of them packed\n", t.pairs, t.variants,
                t.packed);
  assert_true(t.variants > 1000 && t.packed > 500);
}

int main(void) {
  const hone_plugin_table *table = open_module();
  if (!table) {
    print_message("skipped: libhone_backend_cuda.so was not built\n");
    return 77;
  }
  if (hone_context_create(NULL, &bed.context) != HONE_OK) return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_rows, (void *)(uintptr_t)table)};
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  hone_context_destroy(bed.context);
  return failed;
}
