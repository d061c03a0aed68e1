/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - the options of hone-server as rows, their reading, --help and --man; exit codes; what is said. */
#include "server.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef enum kind { FLAG, NUMBER, REAL, SIZE, TEXT } kind;
typedef struct row {
  const char *name;
  kind kind;
  const char *argument, *group, *doc;
  size_t at; /* in srv_options: an int64_t; of a REAL a double, of a TEXT a const char * */
  int64_t otherwise, low, high;
} row;
#define AT(field) .at = offsetof(srv_options, field)
#define MIB (1 << 20)

static const row rows[] = {
    {"address", TEXT, "ADDRESS", "listening", "an IPv4 or IPv6 address; 0.0.0.0 is all; default 127.0.0.1",
     AT(address)},
    {"port", NUMBER, "PORT", "listening", "0 takes a free one and says which", AT(port), 8000, 0, 65535},
    {"http-threads", NUMBER, "N", "listening", "threads that read requests and write replies", AT(http_threads), 1, 1,
     64},
    {"workers", NUMBER, "N", "running", "batches that run at one time; 0: cores over --threads", AT(workers), 0, 0,
     SRV_MAX_WORKERS},
    {"threads", NUMBER, "N", "running", "threads of a worker", AT(threads), 1, 1, HONE_MAX_THREADS},
    {"sessions", NUMBER, "N", "running", "sessions that a worker keeps, over all models", AT(sessions), 16, 1, 4096},
    {"level", NUMBER, "0..5", "running", "tuning of models that are built when they are loaded", AT(level), 3, 0, 5},
    {"cache", TEXT, "FOLDER", "running", "keeps engines that were built here; default: they are built at each start",
     AT(cache_dir)},
    {"timing-cache", TEXT, "FILE", "running", "times of tactics, read and added to", AT(timing_cache)},
    {"poll", NUMBER, "MS", "models", "how often folders are looked at; 0: at a hangup signal only", AT(poll_ms), 1000,
     0, 86400000},
    {"control", FLAG, NULL, "models", "clients may load and unload models", AT(control), 0, 0, 1},
    {"max-batch", NUMBER, "N", "batching", "at most so many rows at once, and of built models; 1: no batching",
     AT(max_batch), 8, 1, SRV_MAX_BATCH},
    {"max-delay", NUMBER, "US", "batching", "how long the oldest request waits for others; 0: none waits for that",
     AT(max_delay_us), 0, 0, 10000000},
    {"max-queue", NUMBER, "N", "limits", "requests that wait for a model; beyond it 429", AT(max_queue), 256, 1,
     1000000},
    {"max-rate", REAL, "N", "limits", "requests a second for a model; beyond it 429; 0: no cap", AT(max_rate), 0, 0,
     1000000000},
    {"max-connections", NUMBER, "N", "limits", "connections at one time", AT(max_connections), 1024, 1, 1000000},
    {"max-body", SIZE, "SIZE", "limits", "of a request, in MiB or with a suffix; beyond it 413", AT(max_body),
     (int64_t)64 * MIB, 1024, (int64_t)1 << 40},
    {"max-json", SIZE, "SIZE", "limits", "of its JSON (numbers cost some 30 times as much memory)", AT(max_json),
     (int64_t)16 * MIB, 1024, (int64_t)1 << 31},
    {"max-held", SIZE, "SIZE", "limits", "of all bodies that wait or run; beyond it 429", AT(max_held),
     (int64_t)1024 * MIB, 1024, (int64_t)1 << 44},
    {"queue-timeout", NUMBER, "MS", "limits", "a request that waited so long gets 503; 0: none does",
     AT(queue_timeout_ms), 10000, 0, 86400000},
    {"run-timeout", NUMBER, "MS", "limits", "a batch that runs so long is ended with 503; 0: none is",
     AT(run_timeout_ms), 60000, 0, 86400000},
    {"idle-timeout", NUMBER, "S", "limits", "a connection on which nothing comes is closed", AT(idle_timeout_s), 60, 1,
     86400},
    {"receive-timeout", NUMBER, "S", "limits", "a request that does not arrive in this time ends its connection",
     AT(receive_timeout_s), 60, 1, 86400},
    {"lame-duck", NUMBER, "MS", "leaving", "after SIGTERM: serves on for so long, while ready says no",
     AT(lame_duck_ms), 2000, 0, 86400000},
    {"drain", NUMBER, "MS", "leaving", "then finishes what was taken, at most for so long", AT(drain_ms), 30000, 0,
     86400000},
    {"verbose", FLAG, NULL, "other", "a line for each reply", AT(verbose), 0, 0, 1},
    {"quiet", FLAG, NULL, "other", "errors alone", AT(quiet), 0, 0, 1},
};

static const char summary[] = "serves models over HTTP by the Open Inference Protocol, version 2";
static const char about[] =
    "A folder holds NAME.hone, NAME.onnx, or NAME/VERSION/model.hone or model.onnx, of which the highest version\n"
    "is served. What changes there is loaded anew while the old one serves on. NAME.config.json or NAME/config.json\n"
    "may set max_delay_us, max_queue and max_rate for a model of its own.\n";
static const char examples[] = "  hone-server models\n"
                               "  hone-server mobilenet.hone --port 9000 --max-delay 2000\n"
                               "  hone-server models --address 0.0.0.0 --cache engines --max-batch 16 --max-rate 200\n"
                               "  curl localhost:8000/v2/models/mobilenet\n"
                               "  curl localhost:8000/v2/models/mobilenet/infer --data-binary @photo.f32 \\\n"
                               "      -H 'Inference-Header-Content-Length: 0' -o scores.f32\n";
static const char exit_codes[] =
    "0 left after SIGTERM or SIGINT, 2 usage, 6 out of memory, 7 input/output, 8 device, 70 internal\n";

/* "; default 8000"; "" where the explanation says it. */
static const char *default_of(const row *r, char *out, size_t room) {
  out[0] = 0;
  if (r->kind == NUMBER || r->kind == REAL) (void)snprintf(out, room, "; default %lld", (long long)r->otherwise);
  if (r->kind == SIZE) (void)snprintf(out, room, "; default %lldM", (long long)(r->otherwise / MIB));
  return out;
}

static void print_help(void) {
  printf("hone-server - %s\n\nusage: hone-server [options] FOLDER|ENGINE.hone|MODEL.onnx ...\n\n%s", summary, about);
  const char *group = "";
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const row *r = &rows[i];
    char left[48], value[64];
    if (strcmp(group, r->group) != 0) printf("\n%s:\n", r->group);
    group = r->group;
    (void)snprintf(left, sizeof left, "--%s %s", r->name, r->argument ? r->argument : "");
    printf("  %-22s %s%s\n", left, r->doc, default_of(r, value, sizeof value));
  }
  printf("  %-22s %s\n  %-22s %s\n  %-22s %s\n\nroutes:\n", "--help", "this text", "--man", "the manual's page",
         "--version", "the version");
  for (const srv_route *route = srv_routes; route->pattern; ++route)
    if (route->doc) printf("  %-4s %-38s %s\n", route->method == SRV_GET ? "GET" : "POST", route->pattern, route->doc);
  printf("\nexamples:\n%s\nexit codes: %s", examples, exit_codes);
}

/* As man(7) wants it: no hyphens for minus signs, and no line that begins like a request. */
static void print_escaped(const char *text) {
  for (const char *c = text; *c; ++c) {
    if ((*c == '.' || *c == '\'') && (c == text || c[-1] == '\n')) fputs("\\&", stdout);
    if (*c == '-' || *c == '\\') putchar('\\');
    putchar(*c == '\\' ? 'e' : *c);
  }
}

static void print_man(void) {
  printf(".TH HONE-SERVER 1 \"\" \"hone %s\" \"User Commands\"\n.SH NAME\nhone\\-server \\- ", hone_version());
  print_escaped(summary);
  printf("\n.SH SYNOPSIS\n.B hone\\-server\n[options] FOLDER|ENGINE.hone|MODEL.onnx ...\n.SH DESCRIPTION\n");
  print_escaped(about);
  printf(".SH OPTIONS\n");
  const char *group = "";
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const row *r = &rows[i];
    char value[64];
    if (strcmp(group, r->group) != 0) printf(".SS %s\n", r->group);
    group = r->group;
    printf(".TP\n\\fB\\-\\-");
    print_escaped(r->name);
    printf("\\fR \\fI%s\\fR\n", r->argument ? r->argument : "");
    print_escaped(r->doc);
    printf("%s\n", default_of(r, value, sizeof value));
  }
  printf(".SH ROUTES\n");
  for (const srv_route *route = srv_routes; route->pattern; ++route) {
    if (!route->doc) continue;
    printf(".TP\n%s ", route->method == SRV_GET ? "GET" : "POST");
    print_escaped(route->pattern);
    putchar('\n');
    print_escaped(route->doc);
    putchar('\n');
  }
  printf(".SH EXAMPLES\n.nf\n");
  print_escaped(examples);
  printf(".fi\n.SH EXIT STATUS\n");
  print_escaped(exit_codes);
}

static int usage(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fputs("hone-server: ", stderr);
  vfprintf(stderr, format, list);
  fputs("\n  usage: hone-server [options] FOLDER|ENGINE|MODEL ...\n  more:  hone-server --help\n", stderr);
  va_end(list);
  return 2;
}

static int read_number(const row *r, const char *text, int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  long long unit = 1;
  if (r->kind == SIZE) {
    static const char units[] = "BKMG";
    const char *found = *end ? strchr(units, *end) : strchr(units, 'M');
    unit = found ? 1LL << 10 * (found - units) : 0;
    if (*end && found) ++end;
  }
  if (errno || end == text || *end || unit == 0 || value < r->low / unit || value > r->high / unit)
    return usage("--%s is %s; allowed: %lld to %lld%s", r->name, text, (long long)r->low, (long long)r->high,
                 r->kind == SIZE ? " bytes, as a number of MiB or with B, K, M, G" : "");
  *out = value * unit;
  return 0;
}

static int read_real(const row *r, const char *text, double *out) {
  char *end;
  errno = 0;
  const double value = strtod(text, &end);
  if (errno || end == text || *end || !(value >= (double)r->low && value <= (double)r->high))
    return usage("--%s is %s; allowed: %lld to %lld", r->name, text, (long long)r->low, (long long)r->high);
  *out = value;
  return 0;
}

static const row *find_row(const char *name, size_t length) {
  for (size_t i = 0; i < HN_COUNT(rows); ++i)
    if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0) return &rows[i];
  return NULL;
}

static int unknown(const char *argument, size_t length) {
  char name[64];
  const char *near = NULL;
  (void)snprintf(name, sizeof name, "%.*s", (int)length, argument);
  for (size_t i = 0; i < HN_COUNT(rows); ++i) near = hone_nearest_name(name, near, rows[i].name);
  return usage("there is no option --%s%s%s", name, near ? "; did you mean --" : "", near ? near : "");
}

/* One option and its value, which may be the next argument. */
static int read_option(int count, char *const *arguments, int *at, srv_options *out) {
  const char *text = arguments[*at] + 2;
  const size_t length = strcspn(text, "=");
  const char *value = text[length] ? text + length + 1 : NULL;
  const row *r = find_row(text, length);
  if (!r) return unknown(text, length);
  void *field = (char *)out + r->at;
  if (r->kind == FLAG) {
    if (value) return usage("--%s takes no value", r->name);
    *(int64_t *)field = 1;
    return 0;
  }
  if (!value && ++*at < count) value = arguments[*at];
  if (!value) return usage("--%s wants %s", r->name, r->argument);
  if (r->kind == REAL) return read_real(r, value, field);
  if (r->kind != TEXT) return read_number(r, value, field);
  *(const char **)field = value;
  return 0;
}

bool srv_option_range(const char *name, double *out_low, double *out_high) {
  const row *r = find_row(name, strlen(name));
  *out_low = r ? (double)r->low : 0;
  *out_high = r ? (double)r->high : 0;
  return r && r->kind == REAL;
}

/* What is printed in the place of serving; false: the argument asks for nothing of it. */
static bool print_asked(const char *argument) {
  if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
    print_help();
  else if (strcmp(argument, "--man") == 0)
    print_man();
  else if (strcmp(argument, "--version") == 0)
    printf("hone-server %s\n", hone_version());
  else
    return false;
  return true;
}

int srv_options_read(int count, char *const *arguments, srv_options *out, bool *out_done) {
  *out = (srv_options){.address = "127.0.0.1"};
  *out_done = false;
  for (size_t i = 0; i < HN_COUNT(rows); ++i)
    if (rows[i].kind != TEXT && rows[i].kind != REAL) *(int64_t *)((char *)out + rows[i].at) = rows[i].otherwise;
  for (int at = 1; at < count; ++at) {
    if (print_asked(arguments[at])) {
      *out_done = true;
      return 0;
    }
    int code = 0;
    if (strncmp(arguments[at], "--", 2) == 0)
      code = read_option(count, arguments, &at, out);
    else if (out->path_count < SRV_MAX_PATHS)
      out->paths[out->path_count++] = arguments[at];
    else
      code = usage("more than %d folders and models", SRV_MAX_PATHS);
    if (code != 0) return code;
  }
  return out->path_count > 0 ? 0 : usage("name a folder of models, an engine or a model");
}

int srv_exit_code(hone_status status) {
  static const int codes[] = {
      [HONE_OK] = 0,           [HONE_INVALID] = 2,     [HONE_MALFORMED] = 3, [HONE_UNSUPPORTED] = 4,
      [HONE_INCOMPATIBLE] = 5, [HONE_NO_MEMORY] = 6,   [HONE_IO] = 7,        [HONE_DEVICE] = 8,
      [HONE_LIMIT] = 9,        [HONE_CANCELLED] = 130, [HONE_INTERNAL] = 70,
  };
  return (size_t)status < HN_COUNT(codes) ? codes[status] : 70;
}

void srv_say(const srv_options *options, const char *format, ...) {
  char line[1024], clock[32];
  struct timespec now;
  struct tm parts;
  va_list list;
  if (options->quiet) return;
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &parts);
  strftime(clock, sizeof clock, "%H:%M:%S", &parts);
  va_start(list, format);
  (void)vsnprintf(line, sizeof line, format, list);
  va_end(list);
  for (char *c = line; *c; ++c) /* what clients send forges no lines */
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  fprintf(stderr, "%s.%03ld %s\n", clock, now.tv_nsec / 1000000, line); /* one write: lines of threads stay whole */
}
