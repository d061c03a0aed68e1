/* SPDX-License-Identifier: Apache-2.0 */
/* html.c - the page: page.html with its marks {{...}} replaced by styles, scripts and one block of JSON. That block
 * ends no element and starts no comment, since every `<` in it is an escape of JSON. */
#include "report/html/html.h"
#include <string.h>

#define HN_PAGE(name, kind) extern const char hn_html_##name##_begin[], hn_html_##name##_end[];
#include "report/html/pages.inc"
#undef HN_PAGE

typedef struct page {
  const char *kind, *begin, *end;
} page;

static const page pages[] = {
#define HN_PAGE(name, kind) {#kind, hn_html_##name##_begin, hn_html_##name##_end},
#include "report/html/pages.inc"
#undef HN_PAGE
};

static void add_pages(hn_text *out, const char *kind) {
  for (size_t i = 0; i < HN_COUNT(pages); ++i)
    if (strcmp(pages[i].kind, kind) == 0)
      hn_text_add_bytes(out, pages[i].begin, (size_t)(pages[i].end - pages[i].begin));
}

/* Text of an element or an attribute. */
static void add_escaped(hn_text *out, const char *text) {
  for (const char *c = text; *c; ++c) switch (*c) {
    case '&': hn_text_add(out, "&amp;"); break;
    case '<': hn_text_add(out, "&lt;"); break;
    case '>': hn_text_add(out, "&gt;"); break;
    case '"': hn_text_add(out, "&quot;"); break;
    default: hn_text_add_bytes(out, c, 1);
    }
}

/* JSON inside a script element: `</script`, `<!--` and the line separators of Unicode, which old scripts end lines at,
 * occur in strings alone, where escapes say the same. */
static void add_json(hn_text *out, const char *json, size_t length) {
  for (size_t i = 0; i < length; ++i) {
    const unsigned char *c = (const unsigned char *)json + i;
    if (*c == '<')
      hn_text_add(out, "\\u003c");
    else if (i + 2 < length && c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9)) {
      hn_text_add(out, c[2] == 0xa8 ? "\\u2028" : "\\u2029");
      i += 2;
    } else
      hn_text_add_bytes(out, json + i, 1);
  }
}

static void put_machine(const hn_html_input *input, hn_json_writer *w) {
  const hone_facts *facts = input->facts;
  hn_json_open_flat(w, "machine", '{');
  hn_json_put_text(w, "name", facts->name);
  hn_json_put_text(w, "version", facts->version);
  hn_json_put_text(w, "isa", input->isa);
  hn_json_put_int(w, "threads", facts->threads);
  hn_json_put_int(w, "cores", facts->cores);
  hn_json_put_real(w, "clock_hz", facts->clock_hz);
  hn_json_put_int(w, "l1_bytes", (int64_t)facts->l1_bytes);
  hn_json_put_int(w, "l2_bytes", (int64_t)facts->l2_bytes);
  hn_json_put_int(w, "l3_bytes", (int64_t)facts->l3_bytes);
  hn_json_put_bool(w, "host_memory", facts->host_memory);
  hn_json_close(w, '}');
}

/* Steps and shares of the run, in nanoseconds from its begin. A loop's body has steps of its own: they are named. */
static void put_timeline(const hn_html_input *input, hn_json_writer *w) {
  const hone_span *run = NULL;
  for (int64_t i = 0; i < input->span_count; ++i)
    if (input->spans[i].kind == HONE_SPAN_RUN) run = &input->spans[i];
  if (!run) return;
  hn_json_open(w, "timeline", '{');
  hn_json_put_int(w, "run", run->run);
  hn_json_put_int(w, "end_ns", run->end_ns - run->begin_ns);
  hn_json_put_int(w, "dropped", run->dropped);
  hn_json_open(w, "spans", '[');
  for (int64_t i = 0; i < input->span_count; ++i) {
    const hone_span *span = &input->spans[i];
    const bool share = span->kind == HONE_SPAN_SHARE;
    if (!share && span->kind != HONE_SPAN_STEP) continue;
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", span->name);
    hn_json_put_int(w, "begin_ns", span->begin_ns - run->begin_ns);
    hn_json_put_int(w, "end_ns", span->end_ns - run->begin_ns);
    if (share) hn_json_put_int(w, "thread", span->thread);
    if (share) hn_json_put_int(w, "parts", span->parts);
    if (!share && span->queued) hn_json_put_int(w, "queue", span->device);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
  hn_json_close(w, '}');
}

/* A value that is JSON already. */
static void put_json(hn_json_writer *w, const char *key, const char *json) {
  if (json) hn_text_printf(w->text, ",\n\"%s\": %s", key, json);
}

static hone_status put_data(const hn_html_input *input, hn_arena *arena, hn_text *out) {
  hn_json_writer writer, *w = &writer;
  hone_status status = HONE_OK;
  hn_json_begin(w, out);
  hn_json_open(w, NULL, '{');
  hn_json_put_text(w, "command", input->command);
  hn_json_put_text(w, "made", input->made);
  put_machine(input, w);
  put_timeline(input, w);
  if (input->explained) status = hn_html_put_ledger(input->explained, arena, w);
  put_json(w, "profile", input->profile);
  put_json(w, "engine", input->engine);
  put_json(w, "memory", input->memory);
  put_json(w, "roofline", input->roofline);
  put_json(w, "before", input->before);
  put_json(w, "advice", input->advice);
  hn_json_close(w, '}');
  return status;
}

hone_status hn_html_write(const hn_html_input *input, hn_arena *arena, hn_text *out) {
  hn_text data;
  hn_text_init(&data, arena->allocator);
  const hone_status status = put_data(input, arena, &data);
  for (const char *at = pages[0].begin; status == HONE_OK && at < pages[0].end;) {
    const char *mark = strstr(at, "{{"); /* a zero stands behind the file */
    if (!mark) mark = pages[0].end;
    hn_text_add_bytes(out, at, (size_t)(mark - at));
    if (mark == pages[0].end) break;
    const char *name = mark + 2;
    const size_t length = strcspn(name, "}");
    if (strncmp(name, "title", length) == 0)
      add_escaped(out, input->title);
    else if (strncmp(name, "plain", length) == 0)
      add_escaped(out, input->plain);
    else if (strncmp(name, "data", length) == 0)
      add_json(out, hn_text_string(&data), data.length);
    else
      add_pages(out, strncmp(name, "css", length) == 0 ? "css" : "js");
    at = name + length + 2;
  }
  const bool failed = data.failed || out->failed;
  hn_text_deinit(&data);
  return status != HONE_OK ? status : failed ? HONE_NO_MEMORY : HONE_OK;
}
