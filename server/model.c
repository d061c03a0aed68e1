/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - an engine under a name, shared with each worker's device, for as long as anybody holds it. */
#include "server.h"
#include <stdlib.h>
#include <string.h>

static hone_status share(srv_model *m, srv_pool *pool, hone_diagnostics *diag) {
  for (int w = 0; w < pool->worker_count; ++w) {
    HN_TRY(hone_engine_share(m->engine, &pool->workers[w].device, 1, &m->of_worker[w], diag));
    m->worker_count = w + 1;
  }
  /* A session checks the weights; those that follow need not. */
  hone_session *session;
  HN_TRY(hone_session_create(m->of_worker[0], NULL, &session, diag));
  hone_session_destroy(session);
  return HONE_OK;
}

static hone_status fill_model(srv_model *m, srv_pool *pool, hone_diagnostics *diag) {
  m->of_worker = calloc((size_t)pool->worker_count, sizeof *m->of_worker);
  m->stats = srv_stats_of(pool, m->name, m->version);
  if (!m->of_worker || !m->stats) return hone_fail(diag, HONE_NO_MEMORY, "out of memory");
  HN_TRY(srv_ports_read(&m->ports, m->engine, (int)pool->options->max_batch, diag));
  return share(m, pool, diag);
}

hone_status srv_model_create(srv_pool *pool, const char *name, const char *version, hone_engine *engine,
                             hone_diagnostics *diag, srv_model **out) {
  *out = NULL;
  srv_model *m = calloc(1, sizeof *m);
  if (!m) {
    hone_engine_release(engine);
    return hone_fail(diag, HONE_NO_MEMORY, "out of memory");
  }
  atomic_init(&m->holds, 1);
  hn_copy_text(m->name, sizeof m->name, name);
  hn_copy_text(m->version, sizeof m->version, version);
  m->engine = engine;
  const hone_status status = fill_model(m, pool, diag);
  if (status == HONE_OK)
    *out = m;
  else
    srv_model_release(m);
  return status;
}

void srv_model_hold(srv_model *m) { atomic_fetch_add(&m->holds, 1); }

void srv_model_release(srv_model *m) {
  if (!m || atomic_fetch_sub(&m->holds, 1) != 1) return;
  for (int w = 0; w < m->worker_count; ++w) hone_engine_release(m->of_worker[w]);
  hone_engine_release(m->engine);
  free(m->of_worker);
  srv_ports_free(&m->ports);
  free(m);
}
