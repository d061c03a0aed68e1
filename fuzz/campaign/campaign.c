/* SPDX-License-Identifier: Apache-2.0 */
/* campaign.c - children that try batches of cases, and the parent that watches them. */
#include "campaign.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_JOBS = 64, BATCH = 256, WALL_OF_CPU = 6, MOST_SHOWN = 2000, SPARE_BYTES = 256 << 20 };

const char *const campaign_stages[STAGE_COUNT] = {"make", "import", "build", "save", "load", "session", "run", "done"};

typedef struct child {
  pid_t pid; /* 0: none */
  bool killed;
  char log[64];
} child;

typedef struct campaign {
  const campaign_family *family;
  void *world;
  const campaign_options *options;
  campaign_slot *slots; /* shared with the children */
  child children[MOST_JOBS];
  int64_t next, end, findings;
  int64_t ended[STAGE_COUNT];
  double slowest;
  int64_t slowest_case;
} campaign;

static double clock_seconds(clockid_t clock) {
  struct timespec now = {0};
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void campaign_enter(campaign_slot *slot, campaign_stage stage) {
  slot->stage = stage;
  slot->began = clock_seconds(CLOCK_MONOTONIC);
  slot->cpu = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/* What the process holds at most has to do with what the allocator gives. Sanitizers hold more. */
static bool over_memory(const campaign_options *options) {
#ifdef CAMPAIGN_SANITIZED
  (void)options;
  return false;
#else
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (uint64_t)use.ru_maxrss * 1024 > 2 * options->memory_bytes + SPARE_BYTES;
#endif
}

static void try_case(const campaign *c, campaign_slot *slot, int64_t number) {
  campaign_file file = {0};
  const double began = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
  campaign_enter(slot, STAGE_MAKE);
  slot->now = number;
  c->family->make(c->world, c->options->seed, number, &file);
  const char *complaint = c->family->attempt(c->world, &file, c->options->seed, number, slot);
  free(file.bytes);
  const double took = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - began;
  if (took > slot->slowest) {
    slot->slowest = took;
    slot->slowest_case = number;
  }
  if (!complaint && over_memory(c->options)) complaint = "more memory than the allocator gave";
  if (complaint) {
    snprintf(slot->complaint, sizeof slot->complaint, "%s", complaint);
    _exit(3);
  }
  ++slot->ended[slot->stage];
}

static void child_main(const campaign *c, campaign_slot *slot, const char *log) {
  const int file = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0) dup2(file, STDERR_FILENO);
  for (int64_t number = slot->now; number < slot->end; ++number) try_case(c, slot, number);
  _exit(0);
}

static bool start_child(campaign *c, int k, int64_t from, int64_t end) {
  campaign_slot *slot = &c->slots[k];
  memset(slot->ended, 0, sizeof slot->ended);
  slot->now = from;
  slot->end = end;
  slot->began = clock_seconds(CLOCK_MONOTONIC);
  slot->cpu = 0;
  slot->slowest = 0;
  slot->complaint[0] = 0;
  snprintf(c->children[k].log, sizeof c->children[k].log, "/tmp/campaign-%ld-%d", (long)getpid(), k);
  c->children[k].killed = false;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid < 0) return false;
  if (pid == 0) child_main(c, slot, c->children[k].log);
  c->children[k].pid = pid;
  return true;
}

static void copy_file(const char *from, const char *to) {
  char buffer[1 << 14];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  for (size_t got; in && out && (got = fread(buffer, 1, sizeof buffer, in)) > 0;)
    if (fwrite(buffer, 1, got, out) != got) break;
  if (in) fclose(in);
  if (out) fclose(out);
}

/* The case is made again here: making one needs nothing of the library that could fail. */
static void keep_finding(const campaign *c, int64_t number, const char *log) {
  char path[4096];
  campaign_file file = {0};
  c->family->make(c->world, c->options->seed, number, &file);
  (void)mkdir(c->options->keep, 0777);
  snprintf(path, sizeof path, "%s/%s-%llu-%lld", c->options->keep, c->family->name,
           (unsigned long long)c->options->seed, (long long)number);
  FILE *out = fopen(path, "wb");
  if (!out || fwrite(file.bytes, 1, file.count, out) != file.count) fprintf(stderr, "%s: not written\n", path);
  if (out) fclose(out);
  snprintf(path, sizeof path, "%s/%s-%llu-%lld.log", c->options->keep, c->family->name,
           (unsigned long long)c->options->seed, (long long)number);
  copy_file(log, path);
  free(file.bytes);
}

/* The line in which a sanitizer says what it saw and where; "": there is none. */
static void sanitizer_line(const char *log, char *out, size_t room) {
  char line[480];
  out[0] = 0;
  FILE *in = fopen(log, "rb");
  while (in && fgets(line, sizeof line, in)) {
    if (strncmp(line, "SUMMARY: ", 9) != 0 && !strstr(line, "runtime error: ")) continue;
    line[strcspn(line, "\n")] = 0;
    snprintf(out, room, "; %s", line);
    break;
  }
  if (in) fclose(in);
}

static void finding(campaign *c, int k, const char *what) {
  const campaign_slot *slot = &c->slots[k];
  char line[512];
  sanitizer_line(c->children[k].log, line, sizeof line);
  if (++c->findings <= MOST_SHOWN)
    printf("FOUND %s --seed %llu --only %lld: %s, at %s%s\n", c->family->name, (unsigned long long)c->options->seed,
           (long long)slot->now, what, campaign_stages[slot->stage], line);
  if (c->options->keep && c->findings <= MOST_SHOWN) keep_finding(c, slot->now, c->children[k].log);
}

static void child_ended(campaign *c, int k, int status) {
  campaign_slot *slot = &c->slots[k];
  c->children[k].pid = 0;
  for (int i = 0; i < STAGE_COUNT; ++i) c->ended[i] += slot->ended[i];
  if (slot->slowest > c->slowest) {
    c->slowest = slot->slowest;
    c->slowest_case = slot->slowest_case;
  }
  const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!clean) {
    char what[320];
    if (c->children[k].killed)
      snprintf(what, sizeof what, "no end within %.0f s", c->options->call_seconds);
    else if (WIFSIGNALED(status))
      snprintf(what, sizeof what, "died: %s", strsignal(WTERMSIG(status)));
    else if (slot->complaint[0])
      snprintf(what, sizeof what, "%s", slot->complaint);
    else
      snprintf(what, sizeof what, "exit %d", WEXITSTATUS(status));
    finding(c, k, what);
  }
  unlink(c->children[k].log);
  if (!clean && slot->now + 1 < slot->end && !start_child(c, k, slot->now + 1, slot->end)) c->findings += 1;
}

/* Too long by the child's processor time, or by far too long on the clock: then it waits for something. */
static void watch_clock(campaign *c, int k) {
  const campaign_slot *slot = &c->slots[k];
  clockid_t clock;
  if (c->children[k].killed || clock_getcpuclockid(c->children[k].pid, &clock)) return;
  const double wall = clock_seconds(CLOCK_MONOTONIC) - slot->began, used = clock_seconds(clock) - slot->cpu;
  if (used < c->options->call_seconds && wall < WALL_OF_CPU * c->options->call_seconds) return;
  if (wall < c->options->call_seconds) return; /* the slot is of an earlier call */
  c->children[k].killed = true;
  kill(c->children[k].pid, SIGKILL);
}

static void report(const campaign *c, double seconds, bool last) {
  int64_t total = 0;
  for (int i = 0; i < STAGE_COUNT; ++i) total += c->ended[i];
  printf("%s: %lld of %lld cases, %lld findings, %.0f s; ran %lld", c->family->name, (long long)(total + c->findings),
         (long long)(c->end - c->options->from), (long long)c->findings, seconds, (long long)c->ended[STAGE_DONE]);
  for (int i = STAGE_IMPORT; i < STAGE_DONE; ++i)
    if (c->ended[i]) printf(", ended at %s %lld", campaign_stages[i], (long long)c->ended[i]);
  printf("; slowest %.2f s (case %lld)%s\n", c->slowest, (long long)c->slowest_case, last ? "" : " ...");
  fflush(stdout);
}

/* Starts batches while there are any; false: nothing is running any more. */
static bool feed(campaign *c) {
  bool busy = false;
  for (int k = 0; k < c->options->jobs; ++k) {
    if (!c->children[k].pid && c->next < c->end) {
      const int64_t from = c->next, end = from + BATCH < c->end ? from + BATCH : c->end;
      c->next = end;
      if (!start_child(c, k, from, end)) {
        perror("fork");
        ++c->findings;
      }
    }
    busy |= c->children[k].pid != 0;
  }
  return busy;
}

int64_t campaign_run(const campaign_family *family, void *world, int64_t total, const campaign_options *options) {
  campaign c = {.family = family, .world = world, .options = options, .next = options->from};
  if (options->jobs < 1 || options->jobs > MOST_JOBS) return -1;
  const int64_t rest = total - options->from;
  c.end = options->from + (options->count && options->count < rest ? options->count : rest);
  const size_t room = sizeof *c.slots * MOST_JOBS;
  c.slots = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (c.slots == MAP_FAILED) return -1;
  const double began = clock_seconds(CLOCK_MONOTONIC);
  double told = began;
  while (feed(&c)) {
    int status;
    bool ended = false;
    for (int k = 0; k < options->jobs; ++k) {
      if (!c.children[k].pid) continue;
      if (waitpid(c.children[k].pid, &status, WNOHANG) == c.children[k].pid) {
        child_ended(&c, k, status);
        ended = true;
      } else {
        watch_clock(&c, k);
      }
    }
    const double now = clock_seconds(CLOCK_MONOTONIC);
    if (!options->quiet && now - told > 60) {
      report(&c, now - began, false);
      told = now;
    }
    if (!ended) usleep(2000);
  }
  report(&c, clock_seconds(CLOCK_MONOTONIC) - began, true);
  munmap(c.slots, room);
  return c.findings;
}

bool campaign_run_one(const campaign_family *family, void *world, const campaign_options *options) {
  campaign_slot slot = {0};
  campaign_file file = {0};
  family->make(world, options->seed, options->from, &file);
  if (options->keep) {
    FILE *out = fopen(options->keep, "wb");
    if (!out || fwrite(file.bytes, 1, file.count, out) != file.count) perror(options->keep);
    if (out) fclose(out);
  }
  const char *complaint = family->attempt(world, &file, options->seed, options->from, &slot);
  printf("%s: %zu bytes; %s: %s\n", file.name, file.count, campaign_stages[slot.stage], complaint ? complaint : "well");
  free(file.bytes);
  return !complaint;
}
