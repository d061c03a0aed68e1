/* SPDX-License-Identifier: Apache-2.0 */
/* cpus.c - which CPUs threads run on and how long idle ones spin: --threads, --cpus, --spin, --streams.
 *
 * With several streams each has a device of its own, that is a pool of its own: one loop at a time runs on a pool, so
 * that sessions on a common one would run most loops in their own thread alone, each as it comes. */
#include "cli.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { SPIN_WAIT_US = 1000000 }; /* --useSpinWait: longer than any pause between two runs of a benchmark */

/* "0-3,6" */
static int parse_cpus(cli_tool *cli, const char *text, cli_cpus *out) {
  for (const char *at = text; at;) {
    char *end;
    const long first = strtol(at, &end, 10);
    bool right = end != at && first >= 0 && first < CPU_SETSIZE;
    long last = first;
    if (right && *end == '-') {
      const char *begin = end + 1;
      last = strtol(begin, &end, 10);
      right = end != begin && last >= first && last < CPU_SETSIZE;
    }
    if (!right || (*end && *end != ','))
      return cli_usage_error(cli, "--cpus expects numbers and ranges separated by commas, as 0-3,6; not \"%s\"", text);
    for (long cpu = first; cpu <= last; ++cpu) {
      if (out->count == CLI_MAX_CPUS) return cli_usage_error(cli, "--cpus takes up to %d CPUs", CLI_MAX_CPUS);
      out->cpus[out->count++] = (int)cpu;
    }
    at = *end ? end + 1 : NULL;
  }
  return CLI_EXIT_OK;
}

int cli_usable_cpus(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}

static int read_hint(cli_tool *cli, hone_hint *out) {
  static const char *const names[HONE_HINT_COUNT] = {
      [HONE_HINT_LATENCY] = "latency", [HONE_HINT_THROUGHPUT] = "throughput"};
  const char *text = cli_text(cli, "hint");
  *out = HONE_HINT_NONE;
  for (int h = 0; text && h < HONE_HINT_COUNT; ++h)
    if (names[h] && strcmp(names[h], text) == 0) *out = (hone_hint)h;
  if (!text || *out) return CLI_EXIT_OK;
  return cli_usage_error(cli, "--hint is \"%s\"; allowed: latency, throughput", text);
}

/* Numbers that were not given. --hint throughput: as many streams of one thread as there are cores. */
static void choose_numbers(const cli_tool *cli, hone_hint hint, cli_cpus *out) {
  const bool streams_given = cli_takes(cli->command, "streams") && cli_has(cli, "streams");
  const int cores = out->count ? out->count : cli_usable_cpus();
  if (hint == HONE_HINT_THROUGHPUT && !streams_given) {
    if (out->threads == 0) out->threads = 1;
    if (cli_takes(cli->command, "streams")) out->streams = cores > out->threads ? cores / out->threads : 1;
  } else if (out->threads == 0 && out->streams > 1) { /* the cores are divided among them */
    out->threads = cores > out->streams ? cores / out->streams : 1;
  }
}

int cli_read_cpus(cli_tool *cli, cli_cpus *out) {
  *out = (cli_cpus){.streams = cli_takes(cli->command, "streams") ? (int)cli_int(cli, "streams", 1) : 1};
  const char *text = cli_text(cli, "cpus");
  hone_hint hint;
  int code = text ? parse_cpus(cli, text, out) : CLI_EXIT_OK;
  if (code == CLI_EXIT_OK) code = read_hint(cli, &hint);
  if (code != CLI_EXIT_OK) return code;
  out->threads = (int)cli_int(cli, "threads", 0);
  choose_numbers(cli, hint, out);
  const bool spins = cli_has(cli, "useSpinWait"), sleeps = cli_has(cli, "noSpinWait");
  if (spins && sleeps) return cli_usage_error(cli, "--useSpinWait and --noSpinWait exclude each other");
  const int64_t spin_us = cli_int(cli, "spin", spins ? SPIN_WAIT_US : sleeps ? 0 : -1);
  out->spin_microseconds = spin_us < 0 ? 0 : spin_us == 0 ? -1 : (int)spin_us;
  return code;
}

/* Stream s of N with T threads each takes the s-th T of the CPUs, from the start again when they do not suffice. */
void cli_device_options_of(const cli_cpus *cpus, int stream, cli_stream_options *out) {
  int threads = cpus->threads ? cpus->threads : cpus->count;
  if (threads > CLI_MAX_CPUS) threads = CLI_MAX_CPUS;
  for (int i = 0; i < threads && cpus->count > 0; ++i)
    out->cpus[i] = cpus->cpus[((int64_t)stream * threads + i) % cpus->count];
  out->options = (hone_device_options){.struct_size = sizeof out->options,
                                       .threads = cpus->threads,
                                       .cpus = cpus->count > 0 ? out->cpus : NULL,
                                       .cpu_count = cpus->count > 0 ? threads : 0,
                                       .spin_microseconds = cpus->spin_microseconds};
}

int cli_pin_thread(const cli_stream_options *stream) {
  if (!stream->options.cpus) return CLI_EXIT_OK;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)stream->cpus[0], &set);
  const int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  if (error == 0) return CLI_EXIT_OK;
  cli_error("--cpus: CPU %d cannot be taken: %s", stream->cpus[0], strerror(error));
  return CLI_EXIT_DEVICE;
}

void cli_cpus_text(const int *cpus, int count, char *out, size_t room) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (count == 0 && sched_getaffinity(0, sizeof set, &set) != 0) CPU_SET(0, &set);
  for (int i = 0; i < count; ++i) CPU_SET((size_t)cpus[i], &set);
  size_t length = 0;
  out[0] = 0;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET((size_t)first, &set)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET((size_t)last + 1, &set)) ++last;
    const int added = last > first ? snprintf(out + length, room - length, "%s%d-%d", length ? "," : "", first, last)
                                   : snprintf(out + length, room - length, "%s%d", length ? "," : "", first);
    if (added < 0 || (size_t)added >= room - length) return;
    length += (size_t)added;
    first = last;
  }
}
