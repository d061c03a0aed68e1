/* SPDX-License-Identifier: Apache-2.0 */
/* changed_queries.inc.h - the part of tactic_sweep.h that asks what no model asks, but a damaged engine file might:
 * cases with one fact changed. Whatever a tactic that takes one computes, it must stay in its buffers. */
enum { MUTATIONS = TEST_SHARE > 5 ? 4 : 12 /* of a tactic on a case */, LARGEST_EXTENT = 300 };

static void mutate(hone_fact *fact, hn_random *random) {
  hone_type *type = &fact->type;
  const uint64_t pick = hn_random_u64(random);
  const int dim = type->shape.rank > 0 ? (int)(pick / 8 % (uint64_t)type->shape.rank) : 0;
  switch (pick % 7) {
  case 0: type->shape.dim[dim] += 1; break;
  case 1: type->shape.dim[dim] -= type->shape.dim[dim] > 0; break;
  case 2: type->shape.dim[dim] = (int64_t)(pick / 64 % 40); break;
  case 3: type->shape.rank += type->shape.rank < HONE_MAX_RANK ? 1 : -1; break;
  case 4: type->shape.rank -= type->shape.rank > 0; break;
  case 5: type->format = (hone_format)(pick / 64 % HONE_FORMAT_COUNT); break;
  default: type->kind = HONE_ABSENT; break;
  }
  for (int i = 0; i < type->shape.rank; ++i)
    if (type->shape.dim[i] > LARGEST_EXTENT) type->shape.dim[i] = LARGEST_EXTENT;
}

/* One run that may fail, but not leave its buffers. */
static void launch_changed(const run *r, buffers *b, const hone_tensor *in) {
  hn_diag_entry entries[4];
  hone_diagnostics diag;
  hn_diag_init(&diag, entries, 4);
  hone_tensor out[CASE_PORTS] = {0};
  hn_prepared prepared = {0};
  hone_stream *stream = NULL;
  pack(r, b);
  b->scratch = guarded_new(scratch_bytes(r, &r->query));
  for (int i = 0; i < r->c->out_count; ++i) {
    if (r->out[i].type.kind == HONE_ABSENT) continue;
    b->out[i] = guarded_new(hn_bytes(&r->out[i].type));
    out[i] = (hone_tensor){.type = r->out[i].type, .data = b->out[i].data, .bytes = b->out[i].bytes};
  }
  assert_int_equal(hn_stream_open(devices[0], 0, &stream, &diag), HONE_OK);
  const hone_launch l = {.in_count = r->c->in_count,
                         .out_count = r->c->out_count,
                         .in = in,
                         .out = out,
                         .packed = b->packed.data,
                         .scratch = b->scratch.data,
                         .diagnostics = &diag};
  if (hn_prepare(devices[0], &r->query, &prepared, &diag) == HONE_OK)
    (void)r->tactic->launch(prepared.state, stream, &l);
  hn_unprepare(&prepared);
  hn_stream_close(devices[0], stream);
  for (int i = 0; i < CASE_PORTS; ++i)
    if ((b->out[i].pages && !guarded_is_whole(&b->out[i])) || (b->in[i].pages && !guarded_is_whole(&b->in[i])))
      fail_msg("%s: wrote beside a buffer", r->what);
  if (!guarded_is_whole(&b->scratch)) fail_msg("%s: wrote beside its scratch", r->what);
}

/* Inputs of the changed types, with the case's bytes as far as they go: those that are constants, or the others. */
static void fill_changed(const run *r, buffers *b, hone_tensor *in, bool constants) {
  for (int i = 0; i < r->c->in_count; ++i) {
    if (r->in[i].type.kind == HONE_ABSENT || (r->c->in[i].constant != NULL) != constants) continue;
    b->in[i] = guarded_new(hn_bytes(&r->in[i].type));
    const size_t known = r->c->in_data[i].bytes < b->in[i].bytes ? r->c->in_data[i].bytes : b->in[i].bytes;
    memset(b->in[i].data, 0, b->in[i].bytes);
    if (known) memcpy(b->in[i].data, r->c->in_data[i].data, known);
    in[i] = (hone_tensor){.type = r->in[i].type, .data = b->in[i].data, .bytes = b->in[i].bytes};
  }
}

/* Runs a query whose facts were changed, when the tactic takes it: whatever comes out, it must stay in its buffers. Few
 * are taken, and only they have inputs. */
static bool survives(const tactic_case *c, const hone_tactic *tactic, int pair, hn_random *random) {
  run r = {.c = c, .tactic = tactic};
  memcpy(r.in, c->in, sizeof r.in);
  memcpy(r.out, c->out, sizeof r.out);
  hn_query_apply_storages(c->op, &tactic->storages[pair], r.in, c->in_count, r.out, c->out_count);
  const int ports = c->in_count + c->out_count, port = (int)(hn_random_u64(random) % (uint64_t)ports);
  mutate(port < c->in_count ? &r.in[port] : &r.out[port - c->in_count], random);
  buffers b = {0};
  hone_tensor in[CASE_PORTS] = {0};
  fill_changed(&r, &b, in, true);
  uint32_t constants = 0;
  for (int i = 0; i < c->in_count; ++i) {
    r.in[i].value = NULL;
    if (!r.in[i].constant) continue;
    r.in[i].constant = in[i].data ? &in[i] : NULL;
    if (in[i].data) constants |= 1u << i;
  }
  r.query = (hone_query){.tactic = tactic,
                         .op = c->op,
                         .attrs = &c->attrs,
                         .in_count = c->in_count,
                         .out_count = c->out_count,
                         .in = r.in,
                         .out = r.out,
                         .constant_mask = constants,
                         .facts = &devices[0]->facts};
  hone_params variants[MAX_VARIANTS] = {{0}};
  hone_needs needs;
  bool taken = !hn_tactic_plan(&r.query, NULL, &needs) && (constants & tactic->pack_mask) == tactic->pack_mask;
  if (taken && tactic->variants) taken = tactic->variants(&r.query, variants, MAX_VARIANTS) > 0;
  r.params = variants[0];
  r.query.params = &r.params;
  if (taken) {
    snprintf(r.what, sizeof r.what, "%s on a changed query, %s [%s] %s", tactic->name, c->row->op, c->row->attrs,
             c->row->inputs);
    fill_changed(&r, &b, in, false);
    launch_changed(&r, &b, in);
  }
  drop(&b);
  return taken;
}

static void test_changed_queries(void **state) {
  (void)state;
  const sweep s = sweep_read();
  int taken = 0, asked = 0;
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    if (!is_asked(&s, rows[i].op)) continue;
    tactic_case c;
    const uint64_t seed = case_seed(&s, &rows[i], s.first);
    hn_random random = {~seed};
    case_draw(&c, &rows[i], seed);
    for (int t = 0; devices[0]->tactics[t]; ++t) {
      const hone_tactic *tactic = devices[0]->tactics[t];
      if (!hn_tactic_covers(tactic, c.op) || !runs_here(tactic)) continue;
      if (is_data_dependent(tactic)) continue; /* what it gets was inferred just before */
      for (int pair = 0; pair < HONE_MAX_STORAGE_PAIRS && !is_last_pair(tactic, pair); ++pair)
        for (int m = 0; m < MUTATIONS; ++m, ++asked) taken += survives(&c, tactic, pair, &random);
    }
    case_drop(&c);
  }
  printf("%d of %d changed queries were taken\n", taken, asked);
}
