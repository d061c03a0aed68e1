/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - an engine under a name, and the queue of its requests, for as long as anybody holds them. */
#include "server.h"
#include <stdlib.h>
#include <string.h>

static hone_status fill_model(srv_model *m, srv_pool *pool, const srv_file *file, hone_diagnostics *diag) {
  m->stats = srv_stats_of(pool, m->name, m->version);
  if (!m->stats) return hone_fail(diag, HONE_NO_MEMORY, "out of memory");
  HN_TRY(srv_settings_read(pool->options, file->settings, &m->settings, diag));
  HN_TRY(srv_ports_read(&m->ports, m->engine, (int)pool->options->max_batch, diag));
  return srv_pool_open_queue(pool, m, diag);
}

hone_status srv_model_create(srv_pool *pool, const srv_file *file, hone_engine *engine, hone_diagnostics *diag,
                             srv_model **out) {
  *out = NULL;
  srv_model *m = calloc(1, sizeof *m);
  if (!m) {
    hone_engine_release(engine);
    return hone_fail(diag, HONE_NO_MEMORY, "out of memory");
  }
  atomic_init(&m->holds, 1);
  hn_copy_text(m->name, sizeof m->name, file->name);
  hn_copy_text(m->version, sizeof m->version, file->version);
  m->engine = engine;
  const hone_status status = fill_model(m, pool, file, diag);
  if (status == HONE_OK)
    *out = m;
  else
    srv_model_release(m);
  return status;
}

void srv_model_hold(srv_model *m) { atomic_fetch_add(&m->holds, 1); }

void srv_model_release(srv_model *m) {
  if (!m || atomic_fetch_sub(&m->holds, 1) != 1) return;
  hone_queue_close(m->queue);
  hone_engine_release(m->engine);
  srv_ports_free(&m->ports);
  free(m);
}
