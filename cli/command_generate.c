/* SPDX-License-Identifier: Apache-2.0 */
/* command_generate.c - hone generate: a prompt's token ids continued by a decoder with caches; how fast that was,
 * beside what memory allows. */
#include "generate.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TOKENS = 32 };

const cli_option cli_generate_options[] = {
    {"prompt-ids", CLI_TEXT, "N,N,...", .doc = "the prompt, as ids of tokens"},
    {"tokens", CLI_INT, "N", .doc = "tokens to generate; default 32", .low = 1, .high = 1 << 20},
    {"eos", CLI_INT, "N", .doc = "stop behind this token", .high = 1 << 30},
    {"greedy", CLI_FLAG, .doc = "always the likeliest token; default"},
    {"temperature", CLI_REAL, "T", .doc = "draw tokens, with logits divided by T", .low = 1e-3, .high = 1e3},
    {"top-k", CLI_INT, "K", .doc = "draw among the K likeliest; default: all", .low = 1, .high = 1 << 20},
    {"top-p", CLI_REAL, "P", .doc = "draw among the likeliest that together have probability P; default 1", .low = 1e-6,
     .high = 1},
    {"seed", CLI_INT, "N", .doc = "seed of drawing and of tuning data; default 0"},
    {"capacity", CLI_INT, "N", .doc = "tokens that caches hold; default: prompt and new tokens", .low = 1,
     .high = 1 << 20},
    {0},
};

typedef struct generation {
  cli_tool *cli;
  int64_t *tokens; /* the prompt, and what is generated */
  int64_t prompt, wanted, made;
  double prefill_ms, *token_ms; /* of each token behind the first, which the prompt's run gives */
} generation;

static int read_prompt(cli_tool *cli, generation *g) {
  const char *text = cli_text(cli, "prompt-ids");
  if (!text) return cli_usage_error(cli, "--prompt-ids names the prompt's tokens, as 1,2,3");
  int64_t count = 1;
  for (const char *c = text; *c; ++c) count += *c == ',';
  g->wanted = cli_int(cli, "tokens", DEFAULT_TOKENS);
  g->tokens = calloc((size_t)(count + g->wanted), sizeof *g->tokens);
  g->token_ms = calloc((size_t)g->wanted, sizeof *g->token_ms);
  if (!g->tokens || !g->token_ms) {
    cli_error("out of memory");
    return CLI_EXIT_NO_MEMORY;
  }
  for (const char *at = text; g->prompt < count; ++g->prompt) {
    char *end;
    errno = 0;
    const long long id = strtoll(at, &end, 10);
    if (end == at || (*end && *end != ',') || errno || id < 0)
      return cli_usage_error(cli, "--prompt-ids: \"%.40s\" does not begin with an id of 0 or more", at);
    g->tokens[g->prompt] = id;
    at = end + (*end == ',');
  }
  return CLI_EXIT_OK;
}

static int read_sampler(cli_tool *cli, cli_sampler *out) {
  const bool draws = cli_has(cli, "temperature") || cli_has(cli, "top-k") || cli_has(cli, "top-p");
  if (draws && cli_has(cli, "greedy"))
    return cli_usage_error(cli, "--greedy excludes --temperature, --top-k and --top-p");
  *out = (cli_sampler){.greedy = !draws,
                       .temperature = cli_real(cli, "temperature", 1),
                       .top_k = cli_int(cli, "top-k", 0),
                       .top_p = cli_real(cli, "top-p", 1),
                       .seed = (uint64_t)cli_int(cli, "seed", 0)};
  return CLI_EXIT_OK;
}

static int generate(generation *g, cli_decoder *d, cli_sampler *sampler) {
  const int64_t eos = cli_int(g->cli, "eos", -1);
  double begin_ms = cli_now_ms();
  int code = cli_decoder_feed(d, g->tokens, g->prompt);
  g->prefill_ms = cli_now_ms() - begin_ms;
  if (code != CLI_EXIT_OK) return code;
  if (!cli_sampler_open(sampler, d->vocabulary)) {
    cli_error("out of memory");
    return CLI_EXIT_NO_MEMORY;
  }
  for (;;) {
    const int64_t token = cli_sample(sampler, d->logits, d->vocabulary);
    g->tokens[g->prompt + g->made++] = token;
    if (token == eos || g->made == g->wanted) return CLI_EXIT_OK;
    begin_ms = cli_now_ms();
    code = cli_decoder_feed(d, &token, 1);
    g->token_ms[g->made - 1] = cli_now_ms() - begin_ms;
    if (code != CLI_EXIT_OK) return code;
  }
}

/* What was measured, and the least time that the bytes of a token take to come from memory. */
typedef struct speed {
  double prompt_rate, token_ms, token_rate; /* tokens a second; the median token */
  double bytes, floor_ms, share;            /* of a token; 0: not known */
} speed;

static void measure(const generation *g, const cli_decoder *d, speed *out) {
  hone_facts facts = HONE_SIZED(hone_facts);
  const int64_t runs = g->made - 1;
  *out = (speed){.prompt_rate = (double)g->prompt / g->prefill_ms * 1e3};
  if (runs < 1) return;
  qsort(g->token_ms, (size_t)runs, sizeof *g->token_ms, cli_compare_doubles);
  out->token_ms = g->token_ms[runs / 2];
  out->token_rate = 1e3 / out->token_ms;
  const double keys = (double)d->length - (double)runs / 2; /* in the caches, at the middle token */
  out->bytes = (double)hone_engine_weights_read(d->engine, 0) + (double)d->state_bytes * keys / (double)d->capacity;
  if (hone_device_facts(g->cli->device, &facts) != HONE_OK || facts.roofs[HONE_ROOF_MEMORY] <= 0) return;
  out->floor_ms = out->bytes / facts.roofs[HONE_ROOF_MEMORY] * 1e3;
  out->share = out->floor_ms / out->token_ms;
}

static void print_json(const generation *g, const cli_decoder *d, const speed *s) {
  printf(CLI_JSON_BEGIN "\"prompt_tokens\": %lld, \"capacity\": %lld, \"cache_bytes\": %lld, \"tokens\": [",
         (long long)g->prompt, (long long)d->capacity, (long long)d->state_bytes);
  for (int64_t i = 0; i < g->made; ++i) printf("%s%lld", i ? ", " : "", (long long)g->tokens[g->prompt + i]);
  printf("], \"prefill_ms\": %.6g, \"prefill_tokens_per_s\": %.6g", g->prefill_ms, s->prompt_rate);
  if (s->token_ms > 0)
    printf(", \"token_ms\": %.6g, \"tokens_per_s\": %.6g, \"token_bytes\": %.0f", s->token_ms, s->token_rate, s->bytes);
  if (s->share > 0) printf(", \"floor_ms\": %.6g, \"share_of_floor\": %.4g", s->floor_ms, s->share);
  printf("}\n");
}

static void print_text(const generation *g, const cli_decoder *d, const speed *s) {
  for (int64_t i = 0; i < g->made; ++i) printf("%s%lld", i ? "," : "", (long long)g->tokens[g->prompt + i]);
  printf("\n\nprompt   %6lld tokens in %.2f ms: %.1f tokens/s\n", (long long)g->prompt, g->prefill_ms, s->prompt_rate);
  if (s->token_ms > 0)
    printf("decode   %6lld tokens, median %.3f ms: %.1f tokens/s\n", (long long)g->made - 1, s->token_ms,
           s->token_rate);
  printf("caches   %6lld of %lld tokens used, %.1f MB, in place\n", (long long)d->length, (long long)d->capacity,
         (double)d->state_bytes * 1e-6);
  if (s->token_ms > 0) printf("memory   %.1f MB a token", s->bytes * 1e-6);
  if (s->share > 0) printf("; the floor is %.3f ms, and %.0f %% of it is reached", s->floor_ms, 100 * s->share);
  if (s->token_ms > 0) printf("\n");
}

/* An engine as it is, or a graph, which is built when its prompt is known. */
static int open_model(cli_tool *cli, cli_model *model) {
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "a model or an engine must be named");
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind == CLI_FILE_ENGINE) return cli_open_named_model(cli, path, model);
  const int code = cli_open_device(cli);
  if (code != CLI_EXIT_OK) return code;
  const hone_status status = cli_load_graph(cli, path, &model->graph);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

static int run_model(generation *g, cli_sampler *sampler, cli_model *model, cli_decoder *d) {
  cli_tool *cli = g->cli;
  const int64_t least = g->prompt + g->wanted - 1, asked = cli_int(cli, "capacity", 0);
  int code = open_model(cli, model);
  if (code != CLI_EXIT_OK) return code;
  const int64_t capacity = asked > 0 ? asked : model->engine ? 0 : least;
  code = cli_decoder_open(cli, model, g->prompt, capacity, d);
  if (code != CLI_EXIT_OK) return code;
  if (d->capacity < least)
    return cli_usage_error(cli, "the caches hold %lld tokens; %lld of the prompt and %lld new ones need %lld",
                           (long long)d->capacity, (long long)g->prompt, (long long)g->wanted, (long long)least);
  code = cli_measure_device(cli);
  return code == CLI_EXIT_OK ? generate(g, d, sampler) : code;
}

int cli_command_generate(cli_tool *cli) {
  generation g = {.cli = cli};
  cli_sampler sampler = {0};
  cli_model model = {0};
  cli_decoder *d = calloc(1, sizeof *d);
  int code = d ? read_prompt(cli, &g) : CLI_EXIT_NO_MEMORY;
  if (!d) cli_error("out of memory");
  if (code == CLI_EXIT_OK) code = read_sampler(cli, &sampler);
  if (code == CLI_EXIT_OK) code = run_model(&g, &sampler, &model, d);
  if (code == CLI_EXIT_OK) {
    speed s;
    measure(&g, d, &s);
    if (cli_has(cli, "json"))
      print_json(&g, d, &s);
    else
      print_text(&g, d, &s);
  }
  cli_sampler_close(&sampler);
  if (d) cli_decoder_close(d);
  cli_close_model(cli, &model);
  free(d);
  free(g.tokens);
  free(g.token_ms);
  return code;
}
