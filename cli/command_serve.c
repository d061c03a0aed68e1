/* SPDX-License-Identifier: Apache-2.0 */
/* command_serve.c - hone serve: a model repository for Triton Inference Server and its backend libtriton_hone.so. Each
 * model gets NAME/VERSION/model.hone (or model.onnx, which the backend builds) and NAME/config.pbtxt. */
#include "cli.h"
#include "server/ports.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const cli_option cli_serve_options[] = {
    {"model", CLI_LIST, "FILE", .doc = "an engine, or an ONNX model, which the server builds when it loads it"},
    {"triton-repository", CLI_TEXT, "DIR", .doc = "the folder of Triton's models; made when it is absent",
     .writes = CLI_WRITES_FOLDER},
    {"model-version", CLI_INT, "V", .doc = "write this version; default 1", .low = 1, .high = 1e9},
    {"instances", CLI_INT, "N", .doc = "sessions of a model that run at one time; default: cores over --threads",
     .low = 1, .high = 256},
    {"threads", CLI_INT, "N", .doc = "threads of each instance; default 1", .low = 1, .high = 256},
    {"max-batch", CLI_INT, "N", .doc = "at most so many rows at once; default: as the engine takes, of a model 8",
     .low = 1, .high = SRV_MAX_BATCH},
    {"max-delay", CLI_INT, "US", .doc = "how long a request waits for others, in microseconds; default 0", .high = 1e7},
    {0},
};

typedef struct repository {
  cli_tool *cli;
  const char *folder, *path; /* path: of the model */
  char name[256];
  char model_folder[4096];
} repository;

static int fail_io(const char *path) {
  cli_error("%s: %s", path, strerror(errno));
  return CLI_EXIT_IO;
}

static int make_folder(const char *path) {
  return mkdir(path, 0777) == 0 || errno == EEXIST ? CLI_EXIT_OK : fail_io(path);
}

/* A file that is there only when it is whole. */
typedef struct output {
  FILE *file;
  char path[4608], temporary[4640];
} output;

static int begin(output *o, const char *folder, const char *name) {
  (void)snprintf(o->path, sizeof o->path, "%s/%s", folder, name);
  (void)snprintf(o->temporary, sizeof o->temporary, "%s.%ld.new", o->path, (long)getpid());
  o->file = fopen(o->temporary, "wb");
  return o->file ? CLI_EXIT_OK : fail_io(o->temporary);
}

static int commit(output *o, int code) {
  if (code == CLI_EXIT_OK && (fflush(o->file) != 0 || fsync(fileno(o->file)) != 0)) code = fail_io(o->temporary);
  fclose(o->file);
  if (code == CLI_EXIT_OK && rename(o->temporary, o->path) != 0) code = fail_io(o->path);
  if (code != CLI_EXIT_OK) (void)unlink(o->temporary);
  return code;
}

static int copy_model(const repository *r, const char *folder, const char *name) {
  static char block[1 << 16];
  const char *why;
  output out;
  FILE *from = cli_open_input(r->path, &why);
  if (!from) {
    cli_error("%s: %s", r->path, why);
    return CLI_EXIT_IO;
  }
  int code = begin(&out, folder, name);
  if (code == CLI_EXIT_OK) {
    for (size_t got; code == CLI_EXIT_OK && (got = fread(block, 1, sizeof block, from)) > 0;)
      if (fwrite(block, 1, got, out.file) != got) code = fail_io(out.temporary);
    if (code == CLI_EXIT_OK && ferror(from)) code = fail_io(r->path);
    code = commit(&out, code);
  }
  fclose(from);
  return code;
}

/* ---- config.pbtxt ---- */

/* Text of protobuf: the same escapes as C. */
static void print_quoted(FILE *to, const char *text) {
  fputc('"', to);
  for (; *text; ++text) {
    const unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      fprintf(to, "\\%c", c);
    else if (c < 0x20)
      fprintf(to, "\\%03o", c);
    else
      fputc(c, to);
  }
  fputc('"', to);
}

static void print_ports(FILE *to, const char *what, const srv_port *ports, int count, bool batched) {
  fprintf(to, "%s [\n", what);
  for (int i = 0; i < count; ++i) {
    fprintf(to, "  { name: ");
    print_quoted(to, ports[i].name);
    fprintf(to, ", data_type: TYPE_%s, dims: [", ports[i].type->name);
    for (int d = batched; d < ports[i].shape.rank; ++d)
      fprintf(to, "%s%lld", d > batched ? ", " : "",
              ports[i].shape.dim[d] < 0 ? -1LL : (long long)ports[i].shape.dim[d]);
    fprintf(to, "] }%s\n", i + 1 < count ? "," : "");
  }
  fprintf(to, "]\n");
}

static void print_batching(FILE *to, const cli_tool *cli, const srv_ports *ports, int max_batch) {
  bool seen[SRV_MAX_BATCH + 1] = {false};
  int printed = 0;
  fprintf(to, "dynamic_batching {\n  preferred_batch_size: [");
  for (int s = 0; s < ports->schedule_count; ++s) {
    const int64_t opt = ports->schedules[s * ports->in_count].opt.dim[0];
    if (opt < 2 || opt > max_batch || seen[opt]) continue;
    fprintf(to, "%s%lld", printed++ ? ", " : "", (long long)opt);
    seen[opt] = true;
  }
  fprintf(to, "]\n  max_queue_delay_microseconds: %lld\n}\n", (long long)cli_int(cli, "max-delay", 0));
}

static int instance_count(const cli_tool *cli) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const int64_t count = cores / cli_int(cli, "threads", 1);
  return (int)cli_int(cli, "instances", count > 1 ? count : 1);
}

/* ports NULL: what a model is built to have, the server tells when it has built it. */
static int write_config(const repository *r, const srv_ports *ports) {
  const cli_tool *cli = r->cli;
  output out;
  int code = begin(&out, r->model_folder, "config.pbtxt");
  if (code != CLI_EXIT_OK) return code;
  fprintf(out.file, "# written by hone %s\nname: ", hone_version());
  print_quoted(out.file, r->name);
  fprintf(out.file, "\nbackend: \"hone\"\n");
  if (ports) {
    const int64_t most = cli_int(cli, "max-batch", ports->max_batch);
    const int max_batch = most < ports->max_batch ? (int)most : ports->max_batch;
    fprintf(out.file, "max_batch_size: %d\n", max_batch);
    print_ports(out.file, "input", ports->in, ports->in_count, max_batch > 0);
    print_ports(out.file, "output", ports->out, ports->out_count, max_batch > 0);
    if (max_batch > 1) print_batching(out.file, cli, ports, max_batch);
  } else if (cli_has(cli, "max-batch")) {
    fprintf(out.file, "max_batch_size: %lld\n", (long long)cli_int(cli, "max-batch", 0));
  }
  fprintf(out.file, "instance_group [ { count: %d, kind: KIND_CPU } ]\n", instance_count(cli));
  fprintf(out.file, "parameters { key: \"threads\", value: { string_value: \"%lld\" } }\n",
          (long long)cli_int(cli, "threads", 1));
  return commit(&out, ferror(out.file) ? fail_io(out.temporary) : CLI_EXIT_OK);
}

static int write_engine_config(const repository *r) {
  srv_ports *ports = calloc(1, sizeof *ports);
  hone_engine *engine = NULL;
  r->cli->subject = CLI_ENGINE;
  hone_status status = ports ? HONE_OK : HONE_NO_MEMORY;
  if (status == HONE_OK) status = hone_engine_load(r->cli->context, r->path, NULL, 0, &engine);
  if (status == HONE_OK)
    status = srv_ports_read(ports, engine, SRV_MAX_BATCH, hone_context_diagnostics(r->cli->context));
  const int code = status == HONE_OK ? write_config(r, ports) : cli_fail(r->cli, status);
  if (ports) srv_ports_free(ports);
  hone_engine_release(engine);
  free(ports);
  return code;
}

/* ---- a model ---- */

static int add_model(repository *r) {
  char folder[4352];
  const cli_file_kind kind = cli_file_kind_of(r->path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind == CLI_FILE_GRAPH_TEXT)
    return cli_usage_error(r->cli, "%s is graph text: build an engine of it (hone build)", r->path);
  cli_name_beside(strrchr(r->path, '/') ? strrchr(r->path, '/') + 1 : r->path, "", r->name, sizeof r->name);
  const int length = snprintf(r->model_folder, sizeof r->model_folder, "%s/%s", r->folder, r->name);
  if (length >= (int)sizeof r->model_folder) return cli_usage_error(r->cli, "%s: the path is too long", r->folder);
  (void)snprintf(folder, sizeof folder, "%s/%lld", r->model_folder, (long long)cli_int(r->cli, "model-version", 1));
  int code = make_folder(r->folder);
  if (code == CLI_EXIT_OK) code = make_folder(r->model_folder);
  if (code == CLI_EXIT_OK) code = make_folder(folder);
  /* The configuration first: with a wrong engine nothing is served. */
  if (code == CLI_EXIT_OK) code = kind == CLI_FILE_ENGINE ? write_engine_config(r) : write_config(r, NULL);
  if (code == CLI_EXIT_OK) code = copy_model(r, folder, kind == CLI_FILE_ENGINE ? "model.hone" : "model.onnx");
  if (code == CLI_EXIT_OK) {
    printf("%s: %s/%s\n", r->name, folder, kind == CLI_FILE_ENGINE ? "model.hone" : "model.onnx");
  } else { /* where they are empty */
    (void)rmdir(folder);
    (void)rmdir(r->model_folder);
  }
  return code;
}

int cli_command_serve(cli_tool *cli) {
  const char *paths[CLI_MAX_GIVEN];
  const int count = cli_list(cli, "model", paths, CLI_MAX_GIVEN);
  repository r = {.cli = cli, .folder = cli_text(cli, "triton-repository")};
  if (!r.folder)
    return cli_usage_error(cli,
                           "--triton-repository DIR must be given; to serve over HTTP at once: hone-server MODEL ...");
  if (count < 1) return cli_usage_error(cli, "an engine or a model must be named");
  int code = CLI_EXIT_OK;
  for (int i = 0; i < count && code == CLI_EXIT_OK; ++i) {
    r.path = paths[i];
    code = add_model(&r);
  }
  cli_next(cli, "tritonserver --model-repository=%s", r.folder);
  return code;
}
