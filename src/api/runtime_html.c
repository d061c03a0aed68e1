/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_html.c - the page for users: asks the other reports for their JSON, so that the numbers are theirs, and puts
 * it together with what the caller has beside the session. */
#include "api/reports.h"
#include "base/arguments.h"
#include "base/file.h"
#include "report/html/html.h"
#include <string.h>
#include <time.h>

enum { PARTS = 6, PLAIN_WIDTH = 240, MOST_SPANS = 1 << 24 };

typedef struct maker {
  const hone_session *session;
  hone_html_options options;
  hone_report_options report; /* as JSON */
  hone_diagnostics *diag;
  hn_arena arena;
  hn_text parts[PARTS]; /* what other reports wrote */
  hn_text page;
  hn_blob before;
} maker;

enum { PROFILE, PLAIN, ENGINE, MEMORY, ROOFLINE, EXPLAINED };

/* A text that has failed says so by itself: no memory is not a report that could not be written. */
static bool append(void *user, const char *text, size_t length) {
  hn_text_add_bytes(user, text, length);
  return true;
}

static hone_status take_options(hone_diagnostics *diag, const hone_html_options *given, hone_html_options *out) {
  HN_OPTIONS(diag, "html", given, hone_html_options, unprofiled_device_ns, out);
  HN_TRY(hn_argument_list(diag, "html option spans", out->spans, out->span_count, MOST_SPANS));
  for (int64_t i = 0; i < out->span_count; ++i)
    if (!out->spans[i].name)
      return HN_FAIL(diag, HONE_INVALID, "html option spans: entry %lld has no name", (long long)i);
  HN_TRY(hn_argument_real(diag, "html option unprofiled_ns", out->unprofiled_ns, 0));
  return hn_argument_real(diag, "html option unprofiled_device_ns", out->unprofiled_device_ns, 0);
}

static hone_status ask_reports(maker *m) {
  const hone_session *session = m->session;
  const hone_engine *engine = session->engine;
  const hone_report_options *json = &m->report;
  hone_report_options plain = *json;
  plain.json = false;
  plain.width = PLAIN_WIDTH;
  const hone_roofline_options roofline = {
      .struct_size = sizeof roofline, .json = true, .one_schedule = json->one_schedule, .schedule = json->schedule};
  hn_text *parts = m->parts;
  HN_TRY(hone_report_profile(session, json, append, &parts[PROFILE], m->diag));
  HN_TRY(hone_report_profile(session, &plain, append, &parts[PLAIN], m->diag));
  HN_TRY(hone_report_engine(engine, json, append, &parts[ENGINE], m->diag));
  HN_TRY(hone_report_memory(engine, json, append, &parts[MEMORY], m->diag));
  HN_TRY(hone_report_roofline(engine, session, &roofline, append, &parts[ROOFLINE], m->diag));
  if (m->options.ledger_path || engine->ledger)
    HN_TRY(hone_report_explain(engine, m->options.ledger_path, json, append, &parts[EXPLAINED], m->diag));
  for (int i = 0; i < PARTS; ++i)
    if (parts[i].failed) return HONE_NO_MEMORY;
  return HONE_OK;
}

/* It is put into the page as it is, so it must be JSON, and have a list of that name. */
static hone_status check_json(maker *m, const char *what, const char *text, size_t length, const char *list) {
  hn_json *value;
  HN_TRY(hn_json_read(&m->arena, m->diag, what, text, length, &value));
  const hn_json *found = hn_json_get(value, list);
  if (found && found->kind == HN_JSON_ARRAY) return HONE_OK;
  return HN_FAIL(m->diag, HONE_MALFORMED, "%s: it has no list \"%s\"", what, list);
}

static hone_status read_before(maker *m, hn_html_input *input) {
  const char *path = m->options.before_path;
  if (!path) return HONE_OK;
  HN_TRY(hn_file_read(m->diag, m->session->allocator, path, &m->before));
  HN_TRY(check_json(m, path, (const char *)m->before.data, m->before.bytes, "layers"));
  char *copy = HN_NEW(&m->arena, char, m->before.bytes + 1);
  if (!copy) return HONE_NO_MEMORY;
  memcpy(copy, m->before.data, m->before.bytes);
  input->before = copy;
  return HONE_OK;
}

static const char *time_now(char *out, size_t room) {
  struct tm parts;
  const time_t now = time(NULL);
  return gmtime_r(&now, &parts) && strftime(out, room, "%Y-%m-%d %H:%M UTC", &parts) ? out : NULL;
}

static hone_status make(maker *m) {
  const hone_engine *engine = m->session->engine;
  const hone_facts *facts = &engine->devices[0]->facts;
  char isa[256] = "", made[32];
  hn_json *explained = NULL;
  HN_TRY(ask_reports(m));
  if (m->parts[EXPLAINED].length)
    HN_TRY(hn_json_read(&m->arena, m->diag, "the ledger", hn_text_string(&m->parts[EXPLAINED]),
                        m->parts[EXPLAINED].length, &explained));
  if (facts->host_memory) hone_isa_text(facts->isa, isa, sizeof isa);
  hn_html_input input = {.title = engine->schedules->name,
                         .plain = hn_text_string(&m->parts[PLAIN]),
                         .command = m->options.command,
                         .made = time_now(made, sizeof made),
                         .profile = hn_text_string(&m->parts[PROFILE]),
                         .engine = hn_text_string(&m->parts[ENGINE]),
                         .memory = hn_text_string(&m->parts[MEMORY]),
                         .roofline = hn_text_string(&m->parts[ROOFLINE]),
                         .advice = m->options.advice,
                         .explained = explained,
                         .facts = facts,
                         .isa = isa,
                         .spans = m->options.spans,
                         .span_count = m->options.span_count};
  HN_TRY(read_before(m, &input));
  if (input.advice) HN_TRY(check_json(m, "html option advice", input.advice, strlen(input.advice), "advice"));
  return hn_html_write(&input, &m->arena, &m->page);
}

hone_status hone_report_html(const hone_session *session, const char *path, const hone_html_options *given,
                             hone_diagnostics *diag) {
  HN_GIVEN(diag, session);
  HN_GIVEN(diag, path);
  maker m = {.session = session, .diag = diag};
  HN_TRY(take_options(diag, given, &m.options));
  m.report = (hone_report_options){.struct_size = sizeof m.report,
                                   .json = true,
                                   .one_schedule = true,
                                   .schedule = m.options.one_schedule ? m.options.schedule : session->schedule,
                                   .cold = m.options.cold,
                                   .unprofiled_ns = m.options.unprofiled_ns,
                                   .unprofiled_device_ns = m.options.unprofiled_device_ns,
                                   .ledger_path = m.options.ledger_path};
  hn_arena_init(&m.arena, session->allocator);
  hn_text_init(&m.page, session->allocator);
  for (int i = 0; i < PARTS; ++i) hn_text_init(&m.parts[i], session->allocator);
  hone_status status = make(&m);
  if (status == HONE_NO_MEMORY) (void)HN_FAIL_MEMORY(diag);
  if (status == HONE_OK) status = hn_file_replace(diag, path, hn_text_string(&m.page), m.page.length);
  for (int i = 0; i < PARTS; ++i) hn_text_deinit(&m.parts[i]);
  hn_text_deinit(&m.page);
  hn_blob_close(&m.before);
  hn_arena_deinit(&m.arena);
  return status;
}
