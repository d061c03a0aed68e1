/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - outputs against others: files that were given (--compare, --loadRefOutputs), or another session's.
 *
 * An element differs when |got - want| > atol + rtol * |want| (numpy's rule); NaN equals NaN. A loss sums up a whole
 * output, by trtexec's names; 0 is perfect, and an output fails whose loss is over --accuracyThreshold. */
#include "cli.h"
#include <math.h>
#include <string.h>
#include <strings.h>

const cli_option cli_compare_options[] = {
    {"compare", CLI_LIST, "NAME=FILE",
     .doc = "compare an output with a file (.npy, .pb, raw .bin); exit 1 when an element differs"},
    {"loadRefOutputs", CLI_LIST, "NAME:FILE", .doc = "the same, trtexec's way; separated by commas"},
    {"atol", CLI_REAL, "X", .doc = "absolute tolerance of an element; default 1e-5", .high = 1e30},
    {"rtol", CLI_REAL, "X", .doc = "relative tolerance of an element; default 1e-3", .high = 1e30},
    {"accuracyAlgorithm", CLI_TEXT, "l0|l1|l2|lInf|cos",
     .doc = "judge an output by the share of elements that differ (l0, the default), the mean absolute error (l1), "
            "the mean squared error (l2), the largest absolute error (lInf), or 1 - cosine similarity (cos)"},
    {"accuracyThreshold", CLI_REAL, "X", .doc = "the largest value allowed; default 0 for l0, required for the others",
     .high = 1e30},
    {0},
};

static double loss_l0(const cli_comparison *c) { return c->count ? (double)c->differing / (double)c->count : 0; }
static double loss_l1(const cli_comparison *c) { return c->count ? c->sum_apart / (double)c->count : 0; }
static double loss_l2(const cli_comparison *c) { return c->count ? c->sum_square_apart / (double)c->count : 0; }
static double loss_inf(const cli_comparison *c) { return c->most_apart; }
static double loss_cos(const cli_comparison *c) {
  if (!isfinite(c->sum_square_apart)) return HUGE_VAL;
  if (c->sum_square_got == 0 && c->sum_square_want == 0) return 0;
  if (c->sum_square_got == 0 || c->sum_square_want == 0) return 1;
  const double loss = 1 - c->sum_product / (sqrt(c->sum_square_got) * sqrt(c->sum_square_want));
  return loss > 0 ? loss : 0; /* rounding may make it a hair less */
}

static const struct {
  const char *name;
  double (*loss)(const cli_comparison *comparison);
} algorithms[] = {{"l0", loss_l0}, {"l1", loss_l1}, {"l2", loss_l2}, {"lInf", loss_inf}, {"cos", loss_cos}};

/* -1: there is none of that name. */
static int find_algorithm(const cli_tool *cli) {
  const char *name = cli_text(cli, "accuracyAlgorithm");
  for (size_t i = 0; i < CLI_COUNT(algorithms); ++i)
    if (!name || strcasecmp(algorithms[i].name, name) == 0) return (int)i;
  return -1;
}

int cli_check_comparing(cli_tool *cli) {
  static const char *const only_comparing[] = {"atol", "rtol", "accuracyAlgorithm", "accuracyThreshold"};
  for (size_t i = 0; i < CLI_COUNT(only_comparing) && !cli_compares(cli); ++i)
    if (cli_has(cli, only_comparing[i]))
      return cli_usage_error(cli, "--%s requires --compare or --loadRefOutputs", only_comparing[i]);
  const int at = find_algorithm(cli);
  if (at < 0)
    return cli_usage_error(cli, "--accuracyAlgorithm expects l0, l1, l2, lInf or cos, not %s",
                           cli_text(cli, "accuracyAlgorithm"));
  if (at == 0) return CLI_EXIT_OK;
  if (!cli_has(cli, "accuracyThreshold"))
    return cli_usage_error(cli, "--accuracyAlgorithm=%s requires --accuracyThreshold", algorithms[at].name);
  if (cli_has(cli, "atol") || cli_has(cli, "rtol"))
    return cli_usage_error(cli, "--atol and --rtol are for --accuracyAlgorithm=l0; %s has --accuracyThreshold alone",
                           algorithms[at].name);
  return CLI_EXIT_OK;
}

void cli_compare_tensors(const hone_tensor *got, const hone_tensor *want, double atol, double rtol,
                         cli_comparison *out) {
  *out = (cli_comparison){.count = hone_tensor_count(want), .worst_at = -1};
  const hone_shape *a = &got->type.shape, *b = &want->type.shape;
  out->same_shape = a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
  if (!out->same_shape) return;
  double worst = -1;
  for (int64_t i = 0; i < out->count; ++i) {
    const double x = hone_tensor_real(got, i), y = hone_tensor_real(want, i);
    const bool same = x == y || (isnan(x) && isnan(y)), finite = isfinite(x) && isfinite(y);
    const double apart = same ? 0 : finite ? fabs(x - y) : HUGE_VAL, allowed = isfinite(y) ? atol + rtol * fabs(y) : 0;
    if (finite) {
      out->sum_product += x * y;
      out->sum_square_got += x * x;
      out->sum_square_want += y * y;
    }
    out->sum_apart += apart;
    out->sum_square_apart += apart * apart;
    if (apart > out->most_apart) out->most_apart = apart;
    out->differing += !(apart <= allowed);
    if (!(apart - allowed > worst) && out->worst_at >= 0) continue;
    worst = apart - allowed;
    out->worst_at = i;
    out->worst_got = x;
    out->worst_want = y;
    out->worst_allowed = allowed;
  }
  const double difference = out->sum_square_apart, reference = out->sum_square_want;
  out->rel_l2 = reference > 0 ? sqrt(difference / reference) : sqrt(difference);
}

/* "[0,3]" of an element's number. */
void cli_print_position(FILE *to, const hone_shape *shape, int64_t at) {
  int64_t index[HONE_MAX_RANK] = {0};
  for (int d = shape->rank - 1; d >= 0; --d) {
    index[d] = at % shape->dim[d];
    at /= shape->dim[d];
  }
  fputc('[', to);
  for (int d = 0; d < shape->rank; ++d) fprintf(to, "%s%lld", d ? "," : "", (long long)index[d]);
  fputc(']', to);
}

/* JSON has no infinities. */
static void print_number(FILE *to, double value) {
  if (isfinite(value))
    fprintf(to, "%.9g", value);
  else
    fprintf(to, "\"%s\"", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static void print_json(FILE *to, const char *name, const hone_shape *shape, const cli_comparison *c) {
  fprintf(to, "{\"name\": ");
  cli_json_text(to, name);
  fprintf(to, ", \"same_shape\": %s", c->same_shape ? "true" : "false");
  if (c->same_shape) {
    fprintf(to, ", \"elements\": %lld, \"differing\": %lld, \"rel_l2\": ", (long long)c->count,
            (long long)c->differing);
    print_number(to, c->rel_l2);
  }
  if (c->worst_at >= 0) {
    fprintf(to, ", \"worst\": {\"at\": ");
    cli_print_position(to, shape, c->worst_at);
    fprintf(to, ", \"got\": ");
    print_number(to, c->worst_got);
    fprintf(to, ", \"want\": ");
    print_number(to, c->worst_want);
    fprintf(to, ", \"allowed\": %.9g}", c->worst_allowed);
  }
  if (c->algorithm) {
    fprintf(to, ", \"algorithm\": \"%s\", \"loss\": ", c->algorithm);
    print_number(to, c->loss);
    fprintf(to, ", \"threshold\": %.9g, \"within\": %s", c->threshold, c->loss <= c->threshold ? "true" : "false");
  }
  fprintf(to, "}");
}

void cli_print_comparison(FILE *to, bool json, const char *name, const hone_tensor *got, const hone_tensor *want,
                          const cli_comparison *c) {
  if (json) {
    print_json(to, name, &got->type.shape, c);
    return;
  }
  fprintf(to, "compare %s: ", name);
  if (!c->same_shape) {
    fprintf(to, "the shape is ");
    cli_print_shape(to, &got->type.shape);
    fprintf(to, ", wanted ");
    cli_print_shape(to, &want->type.shape);
    fputc('\n', to);
    return;
  }
  fprintf(to, "%lld of %lld elements differ, relative L2 %.2e", (long long)c->differing, (long long)c->count,
          c->rel_l2);
  if (c->worst_at >= 0) {
    fprintf(to, "; worst at ");
    cli_print_position(to, &got->type.shape, c->worst_at);
    fprintf(to, ": %.9g, wanted %.9g, apart %.3g, allowed %.3g", c->worst_got, c->worst_want,
            fabs(c->worst_got - c->worst_want), c->worst_allowed);
  }
  if (c->algorithm && (strcmp(c->algorithm, "l0") != 0 || c->threshold > 0))
    fprintf(to, "; %s %.6g is %s %.6g", c->algorithm, c->loss, c->loss <= c->threshold ? "within" : "over",
            c->threshold);
  fputc('\n', to);
}

typedef struct comparing {
  cli_tool *cli;
  hone_session *session;
  FILE *to;
  bool json;
  int done;
  bool differs;
} comparing;

static int compare_file(comparing *c, const hone_port_info *port, const char *path) {
  cli_tool *cli = c->cli;
  hone_tensor got, want;
  const hone_status status = hone_session_tensor(c->session, port->name, &got);
  if (status != HONE_OK) return cli_fail_session(cli, c->session, status);
  const int code = cli_read_tensor(cli, path, &got.type, &want);
  if (code != CLI_EXIT_OK) return code;
  if (got.type.kind != HONE_TENSOR || got.type.dtype == HONE_STRING || want.type.dtype == HONE_STRING) {
    hone_tensor_free(cli->context, &want);
    return cli_usage_error(cli, "output %s: only numeric tensors can be compared", port->name);
  }
  cli_comparison result;
  cli_compare_tensors(&got, &want, cli_real(cli, "atol", 1e-5), cli_real(cli, "rtol", 1e-3), &result);
  const int at = find_algorithm(cli);
  result.algorithm = algorithms[at].name;
  result.loss = result.same_shape ? algorithms[at].loss(&result) : HUGE_VAL;
  result.threshold = cli_real(cli, "accuracyThreshold", 0);
  if (c->json && c->done > 0) fprintf(c->to, ", ");
  cli_print_comparison(c->to, c->json, port->name, &got, &want, &result);
  ++c->done;
  c->differs = c->differs || !result.same_shape || !(result.loss <= result.threshold);
  hone_tensor_free(cli->context, &want);
  return CLI_EXIT_OK;
}

static int compare_pair(comparing *c, const char *text, size_t length, char sign, const hone_port_info *ports,
                        int count) {
  char pair[4096];
  const hone_port_info *port;
  const char *path;
  const int code = cli_part_pair(c->cli, "output", text, length, sign, ports, count, pair, sizeof pair, &port, &path);
  return code == CLI_EXIT_OK ? compare_file(c, port, path) : code;
}

bool cli_compares(const cli_tool *cli) { return cli_has(cli, "compare") || cli_has(cli, "loadRefOutputs"); }

int cli_compare_outputs(cli_tool *cli, const hone_engine *engine, hone_session *session, FILE *to, bool json) {
  hone_port_info ports[CLI_MAX_INPUTS];
  const int all = hone_engine_output_count(engine), count = all < CLI_MAX_INPUTS ? all : CLI_MAX_INPUTS;
  for (int i = 0; i < count; ++i) {
    ports[i].struct_size = sizeof ports[i];
    if (hone_engine_output(engine, i, &ports[i]) != HONE_OK) return CLI_EXIT_INTERNAL;
  }
  comparing c = {.cli = cli, .session = session, .to = to, .json = json};
  const char *texts[CLI_MAX_INPUTS];
  int code = CLI_EXIT_OK;
  const int own = cli_list(cli, "compare", texts, CLI_MAX_INPUTS);
  for (int i = 0; i < own && code == CLI_EXIT_OK; ++i)
    code = compare_pair(&c, texts[i], strlen(texts[i]), '=', ports, count);
  const int trt = cli_list(cli, "loadRefOutputs", texts, CLI_MAX_INPUTS);
  for (int i = 0; i < trt && code == CLI_EXIT_OK; ++i)
    for (const char *at = texts[i]; at && code == CLI_EXIT_OK;) {
      const size_t length = strcspn(at, ",");
      code = compare_pair(&c, at, length, ':', ports, count);
      at = at[length] ? at + length + 1 : NULL;
    }
  return code == CLI_EXIT_OK && c.differs ? CLI_EXIT_CHECK_FAILED : code;
}
