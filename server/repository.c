/* SPDX-License-Identifier: Apache-2.0 */
/* repository.c - one thread that keeps the table of models like the folders: what is new or changed is loaded while the
 * old one serves on, and takes its place only when it is complete; what fails leaves the old one there. */
#include "server.h"
#include "base/cond.h"
#include <stdlib.h>
#include <string.h>

struct srv_entry {
  srv_file file;    /* as it was tried last */
  srv_file changed; /* as it was seen since: loaded when it is the same at the next look */
  bool found, ready, tried, unloaded;
  char why[400]; /* it is not ready, or the newest file is not what serves */
};

struct srv_task {
  srv_task *next;
  srv_request *request;
  char name[SRV_NAME_ROOM];
  bool load;
};

static bool same_file(const srv_file *a, const srv_file *b) {
  return a->size == b->size && a->modified_ns == b->modified_ns && a->number == b->number &&
         strcmp(a->path, b->path) == 0 && a->settings_size == b->settings_size &&
         a->settings_modified_ns == b->settings_modified_ns && strcmp(a->settings, b->settings) == 0;
}

static srv_entry *find(srv_repository *r, const char *name) {
  for (int i = 0; i < r->entry_count; ++i)
    if (strcmp(r->entries[i].file.name, name) == 0) return &r->entries[i];
  return NULL;
}

/* ---- one model ---- */

static void set_why(srv_repository *r, srv_entry *e, const char *why, bool ready) {
  pthread_mutex_lock(&r->lock);
  hn_copy_text(e->why, sizeof e->why, why);
  e->ready = ready;
  e->tried = true;
  pthread_mutex_unlock(&r->lock);
}

static hone_status try_load(srv_repository *r, srv_entry *e, const srv_file *file) {
  hone_engine *engine = NULL;
  srv_model *model = NULL;
  const srv_options *o = r->pool->options;
  const int64_t begin_ns = hn_clock_ns();
  pthread_mutex_lock(&r->lock);
  e->file = *file;
  pthread_mutex_unlock(&r->lock);
  hone_status status = srv_load_engine(r, file, &engine);
  if (status == HONE_OK) status = srv_model_create(r->pool, file, engine, hone_context_diagnostics(r->context), &model);
  if (status == HONE_OK && !srv_pool_place(r->pool, file->name, model)) {
    srv_model_release(model);
    status = HONE_NO_MEMORY;
  }
  const char *why = hone_context_message_count(r->context) > 0 ? hone_context_message(r->context, 0, NULL) : NULL;
  if (status == HONE_OK) {
    set_why(r, e, "", true);
    srv_say(o, "%s: version %s is loaded from %s, batches up to %d, %.1f s", file->name, file->version, file->path,
            model->ports.max_batch > 0 ? model->ports.max_batch : 1, (double)(hn_clock_ns() - begin_ns) / 1e9);
  } else {
    set_why(r, e, why ? why : hone_status_name(status), e->ready);
    srv_say(o, "%s: %s%s", file->name, why ? why : hone_status_name(status), e->ready ? "; the old one serves on" : "");
  }
  return status;
}

static void unload(srv_repository *r, srv_entry *e, const char *why) {
  (void)srv_pool_place(r->pool, e->file.name, NULL);
  if (e->ready) srv_say(r->pool->options, "%s: unloaded", e->file.name);
  set_why(r, e, why, false);
}

/* ---- looking ---- */

static srv_entry *want_entry(srv_repository *r, const srv_file *file) {
  srv_entry *e = find(r, file->name);
  if (e) return e;
  pthread_mutex_lock(&r->lock);
  if (r->entry_count == r->entry_room) {
    const int room = r->entry_room ? r->entry_room * 2 : 16;
    srv_entry *larger = realloc(r->entries, (size_t)room * sizeof *larger);
    if (larger) {
      r->entries = larger;
      r->entry_room = room;
    }
  }
  if (r->entry_count < r->entry_room) {
    e = &r->entries[r->entry_count++];
    *e = (srv_entry){0};
    hn_copy_text(e->file.name, sizeof e->file.name, file->name);
    hn_copy_text(e->file.version, sizeof e->file.version, file->version);
  }
  pthread_mutex_unlock(&r->lock);
  return e;
}

static void see_file(void *user, const srv_file *file) {
  srv_repository *r = user;
  srv_entry *e = want_entry(r, file);
  if (!e || e->found) return; /* of two folders the first counts */
  e->found = true;
  if (e->unloaded || same_file(&e->file, file)) return;
  /* A file that is just being written waits until it stays as it is. */
  const bool settled = !atomic_load(&r->ready) || same_file(&e->changed, file);
  e->changed = *file;
  if (settled) (void)try_load(r, e, file);
}

static void look(srv_repository *r) {
  const srv_options *o = r->pool->options;
  for (int i = 0; i < r->entry_count; ++i) r->entries[i].found = false;
  bool readable = true;
  for (int p = 0; p < o->path_count && !atomic_load(&r->cancel); ++p)
    readable = srv_files_find(o->paths[p], see_file, r) && readable;
  for (int i = 0; i < r->entry_count; ++i) {
    srv_entry *e = &r->entries[i];
    if (e->found || !readable || atomic_load(&r->cancel)) continue; /* a folder that is gone for a moment is no wish */
    if (e->file.size == 0 && !e->ready) continue;
    unload(r, e, "its file is gone");
    pthread_mutex_lock(&r->lock);
    e->file.size = 0;
    e->unloaded = false;
    pthread_mutex_unlock(&r->lock);
  }
}

/* ---- what clients ask for ---- */

typedef struct search {
  const char *name;
  srv_file file;
  bool found;
} search;

static void see_name(void *user, const srv_file *file) {
  search *s = user;
  if (s->found || strcmp(file->name, s->name) != 0) return;
  s->file = *file;
  s->found = true;
}

/* As it is now: who asks for it has finished writing. */
static void load_now(srv_repository *r, const char *name, srv_reply *reply) {
  search s = {.name = name};
  for (int p = 0; p < r->pool->options->path_count; ++p) (void)srv_files_find(r->pool->options->paths[p], see_name, &s);
  srv_entry *e = s.found ? want_entry(r, &s.file) : NULL;
  if (!e) {
    srv_reply_error(reply, 404, "no folder has a model \"%s\"", name);
    return;
  }
  e->unloaded = false;
  e->changed = s.file;
  const hone_status status = try_load(r, e, &s.file);
  if (status != HONE_OK) srv_reply_error(reply, srv_code_of(status), "model \"%s\": %s", name, e->why);
}

static void unload_now(srv_repository *r, const char *name, srv_reply *reply) {
  srv_entry *e = find(r, name);
  if (!e) {
    srv_reply_error(reply, 404, "there is no model \"%s\"", name);
    return;
  }
  e->unloaded = true;
  unload(r, e, "unloaded by a client");
}

static void run_task(srv_repository *r, const srv_task *task) {
  srv_request *request = task->request;
  if (task->load)
    load_now(r, task->name, &request->reply);
  else
    unload_now(r, task->name, &request->reply);
  if (request->reply.code == 0) request->reply.code = 200;
  request->done(request); /* the task goes with it */
}

bool srv_repository_submit(srv_repository *r, srv_request *request, const char *name, bool load) {
  srv_task *task = HN_NEW(&request->arena, srv_task, 1);
  pthread_mutex_lock(&r->lock);
  const bool taken = task && !r->closing;
  if (taken) {
    srv_task **end = &r->tasks;
    while (*end) end = &(*end)->next;
    *task = (srv_task){.request = request, .load = load};
    hn_copy_text(task->name, sizeof task->name, name);
    *end = task;
    pthread_cond_signal(&r->wake);
  }
  pthread_mutex_unlock(&r->lock);
  if (!taken) srv_reply_error(&request->reply, 503, "the server is leaving");
  return taken;
}

void srv_repository_index(srv_repository *r, bool ready_only, hn_text *out) {
  hn_json_writer w;
  hn_json_begin(&w, out);
  hn_json_open(&w, NULL, '[');
  pthread_mutex_lock(&r->lock);
  for (int i = 0; i < r->entry_count; ++i) {
    const srv_entry *e = &r->entries[i];
    if (ready_only && !e->ready) continue;
    hn_json_open_flat(&w, NULL, '{');
    hn_json_put_text(&w, "name", e->file.name);
    hn_json_put_text(&w, "version", e->file.version);
    hn_json_put_text(&w, "state", e->ready ? "READY" : e->tried ? "UNAVAILABLE" : "LOADING");
    if (*e->why) hn_json_put_text(&w, "reason", e->why);
    hn_json_close(&w, '}');
  }
  pthread_mutex_unlock(&r->lock);
  hn_json_close(&w, ']');
}

/* ---- the thread ---- */

void srv_repository_scan(srv_repository *r) {
  pthread_mutex_lock(&r->lock);
  r->scan = true;
  pthread_cond_signal(&r->wake);
  pthread_mutex_unlock(&r->lock);
}

static bool wants_second_look(const srv_repository *r) {
  for (int i = 0; i < r->entry_count; ++i)
    if (r->entries[i].found && !r->entries[i].unloaded && !same_file(&r->entries[i].file, &r->entries[i].changed))
      return true;
  return false;
}

static void *repository_main(void *argument) {
  srv_repository *r = argument;
  const int64_t poll_ms = r->pool->options->poll_ms;
  look(r);
  atomic_store(&r->ready, true);
  srv_say(r->pool->options, "ready");
  pthread_mutex_lock(&r->lock);
  while (!r->closing || r->tasks) {
    srv_task *task = r->tasks;
    if (task) {
      r->tasks = task->next;
      pthread_mutex_unlock(&r->lock);
      run_task(r, task);
      pthread_mutex_lock(&r->lock);
      continue;
    }
    const int64_t wait_ms = poll_ms > 0 ? poll_ms : wants_second_look(r) ? 200 : 0;
    if (!r->scan) (void)hn_cond_wait_until(&r->wake, &r->lock, wait_ms > 0 ? hn_clock_ns() + wait_ms * 1000000 : 0);
    if (r->closing || r->tasks) continue;
    r->scan = false;
    pthread_mutex_unlock(&r->lock);
    look(r);
    pthread_mutex_lock(&r->lock);
  }
  pthread_mutex_unlock(&r->lock);
  return NULL;
}

static void see_nothing(void *user, const srv_file *file) { (void)user, (void)file; }

hone_status srv_repository_open(srv_repository *r, srv_pool *pool) {
  const srv_options *o = pool->options;
  *r = (srv_repository){.pool = pool};
  pthread_mutex_init(&r->lock, NULL);
  hn_cond_init(&r->wake);
  const hone_context_options options = {.struct_size = sizeof options, .cancel = &r->cancel};
  const hone_device_options device = {.struct_size = sizeof device, .threads = (int)o->threads};
  HN_TRY(hone_context_create(&options, &r->context));
  HN_TRY(hone_device_open(r->context, "cpu", 0, &device, &r->device));
  for (int p = 0; p < o->path_count; ++p)
    if (!srv_files_find(o->paths[p], see_nothing, NULL))
      return hone_fail(hone_context_diagnostics(r->context), HONE_IO, "%s: no folder and no model", o->paths[p]);
  r->started = pthread_create(&r->thread, NULL, repository_main, r) == 0;
  return r->started ? HONE_OK : HONE_DEVICE;
}

void srv_repository_close(srv_repository *r) {
  if (!r->pool) return;
  pthread_mutex_lock(&r->lock);
  r->closing = true;
  atomic_store(&r->cancel, true);
  pthread_cond_signal(&r->wake);
  pthread_mutex_unlock(&r->lock);
  if (r->started) pthread_join(r->thread, NULL);
  hone_device_close(r->device);
  hone_context_destroy(r->context);
  free(r->entries);
  r->entries = NULL;
  pthread_cond_destroy(&r->wake);
  pthread_mutex_destroy(&r->lock);
  r->pool = NULL;
}
