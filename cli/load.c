/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - is the machine busy with something else? Times that were measured then mislead, and nobody sees it in a
 * mean. Signs: the runs' median and mean against the least one, how often this process was put aside for others, how
 * long it waited for a CPU, and how many processes want one. A clear one is enough, of weak ones two; all are said.
 * Where runs differ and nobody took a CPU away, the processor itself was slower for a time. */
#include "cli.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LEAST_RUNS = 5 };

static long switches(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* How long this thread could have run and had no CPU, in ms; 0 where the kernel does not tell. */
static double waited_ms(void) {
  long long ran_ns, waited_ns = 0;
  FILE *file = fopen("/proc/thread-self/schedstat", "r");
  if (!file) return 0;
  if (fscanf(file, "%lld %lld", &ran_ns, &waited_ns) != 2) waited_ns = 0;
  fclose(file);
  return (double)waited_ns * 1e-6;
}

/* How many threads of the machine run or want to run at this moment; the load average needs a minute to say so. */
static long runnable(void) {
  long now = 0;
  FILE *file = fopen("/proc/loadavg", "r");
  if (!file) return 0;
  if (fscanf(file, "%*f %*f %*f %ld", &now) != 1) now = 0;
  fclose(file);
  return now;
}

void cli_load_begin(cli_load *load) {
  *load = (cli_load){.begin_ms = cli_now_ms(), .switches = switches(), .waited_ms = waited_ms()};
}

void cli_load_add(cli_load *load, double ms) {
  load->sum_ms += ms;
  if (load->count == 0 || ms < load->least_ms) load->least_ms = ms;
  if (load->count < CLI_LOAD_RUNS) load->runs[load->count] = ms; /* the first ones tell the median well enough */
  ++load->count;
}

int cli_compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void cli_load_end(const cli_tool *cli, cli_load *load, double spread) {
  const double passed_ms = cli_now_ms() - load->begin_ms;
  const double rate = passed_ms > 50 ? 1e3 * (double)(switches() - load->switches) / passed_ms : 0;
  const double waited = passed_ms > 50 ? (waited_ms() - load->waited_ms) / passed_ms : 0;
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  double average[1] = {0}, mean = spread;
  if (load->count >= LEAST_RUNS) {
    const int kept = load->count < CLI_LOAD_RUNS ? (int)load->count : CLI_LOAD_RUNS;
    qsort(load->runs, (size_t)kept, sizeof load->runs[0], cli_compare_doubles);
    spread = load->runs[kept / 2] / load->least_ms;
    mean = load->sum_ms / (double)load->count / load->least_ms;
  }
  if (getloadavg(average, 1) != 1) average[0] = 0;
  const bool put_aside = rate > 20 || waited > 0.03;
  const bool clear = spread > 1.5 || mean > 2 || rate > 60 || waited > 0.1;
  const bool weak = spread > 1.1 || mean > 1.3 || put_aside;
  const bool wanted = average[0] > 2 * (double)cpus || runnable() > 2 * cpus; /* this process wants one a CPU */
  if (!clear && !(weak && wanted)) return;
  char said[128] = "";
  if (mean > 0)
    (void)snprintf(said, sizeof said, "a run takes %.2g times the least one in the median and %.2g in the mean; ",
                   spread, mean);
  const bool others = put_aside || wanted;
  cli_note(
      cli,
      "warning: %s: %s%.0f involuntary context switches a second, %.0f %% of the time waited for a CPU; load average "
      "%.1f on %ld CPUs\n  these times mislead: %s",
      others ? "the machine seems busy with something else" : "the processor's speed changes", said, rate, 100 * waited,
      average[0], cpus,
      others ? "close other programs, use fewer threads (--threads), or pin them to free CPUs (--cpus)"
             : "clocks, heat or neighbours of a virtual machine do that, to matrix units (AMX) for seconds at a "
               "time; measure longer, or again");
}
