/* SPDX-License-Identifier: Apache-2.0 */
/* command_doctor.c - hone doctor: what this machine and this build can do. */
#include "cli.h"
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

typedef struct fact {
  const char *key;
  char text[512];
} fact;

enum { MAX_FACTS = 24 };
typedef struct facts {
  fact items[MAX_FACTS];
  int count;
} facts;

static void add(facts *list, const char *key, const char *format, ...) HONE_PRINTF(3, 4);
static void add(facts *list, const char *key, const char *format, ...) {
  if (list->count == MAX_FACTS) return;
  fact *item = &list->items[list->count++];
  item->key = key;
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(item->text, sizeof item->text, format, arguments);
  va_end(arguments);
}

static void add_cache(facts *list) {
  char room[4096];
  const char *path = cli_cache_dir(room, sizeof room);
  if (!path)
    add(list, "cache", "none: neither HONE_CACHE_DIR nor HOME is set");
  else
    add(list, "cache", "%.400s%s", path,
        access(path, W_OK) == 0   ? ""
        : access(path, F_OK) == 0 ? " (not writable)"
                                  : " (not made yet)");
}

/* The device that was asked for: the CPU, or another one, which is not told about in a CPU's words. */
static void add_device(facts *list, const hone_facts *device) {
  char sets[128];
  hone_isa_text(device->isa, sets, sizeof sets);
  add(list, device->host_memory ? "cpu" : "device", "%s", device->name);
  add(list, "kernels", "%s, for %s", device->version, sets);
  hone_isa_text(device->isa_refused, sets, sizeof sets);
  if (device->isa_refused) /* behind "c ", which nobody refuses */
    add(list, "refused", "%s: the operating system does not grant tile state", sets + 2);
  if (device->host_memory) {
    add(list, "threads", "%d of %ld processors", device->threads, sysconf(_SC_NPROCESSORS_ONLN));
    add(list, "caches", "L1 %zu KiB, L2 %zu KiB, L3 %zu KiB", device->l1_bytes / 1024, device->l2_bytes / 1024,
        device->l3_bytes / 1024);
  } else {
    add(list, "units", "%d multiprocessors", device->threads);
    add(list, "caches", "L2 %zu KiB", device->l2_bytes / 1024);
  }
  char peaks[480] = "";
  for (int r = 0; r < HONE_ROOF_COUNT; ++r)
    if (device->roofs[r] > 0)
      (void)snprintf(peaks + strlen(peaks), sizeof peaks - strlen(peaks), "%s%s %.1f %s", *peaks ? ", " : "",
                     hone_roof_name((hone_roof)r), device->roofs[r] * 1e-9,
                     r >= HONE_ROOF_L1     ? "GB/s"
                     : r == HONE_ROOF_INT8 ? "GOP/s"
                                           : "GFLOP/s");
  add(list, "peaks", "%s", *peaks ? peaks : "not measured");
}

/* Opened for a look: what it is, or why there is none. */
static void add_gpu(cli_tool *cli, facts *list) {
  hone_device *gpu;
  if (hone_device_open(cli->context, "gpu", 0, NULL, &gpu) == HONE_OK) {
    hone_facts found = HONE_SIZED(hone_facts);
    hone_device_facts(gpu, &found);
    add(list, "gpu", "%s, %s", found.name, found.version);
    hone_device_close(gpu);
    return;
  }
  const int count = hone_context_message_count(cli->context);
  char reason[480];
  (void)snprintf(reason, sizeof reason, "%s", count ? hone_context_message(cli->context, count - 1, NULL) : "none");
  reason[strcspn(reason, "\n")] = 0;
  add(list, "gpu", "none: %s", reason);
  hone_context_clear_messages(cli->context);
}

static void add_libraries(facts *list) {
#ifdef HONE_HAVE_PNG
  add(list, "png", "read by libpng");
#else
  add(list, "png", "not read: built without libpng");
#endif
#ifdef HONE_HAVE_TURBOJPEG
  add(list, "jpeg", "read by libturbojpeg");
#else
  add(list, "jpeg", "not read: built without libturbojpeg");
#endif
}

static void print(const cli_tool *cli, const facts *list) {
  const bool json = cli_has(cli, "json");
  if (json) printf("{\n  \"schema\": %d,", HONE_JSON_SCHEMA);
  for (int i = 0; i < list->count; ++i) {
    if (!json) {
      printf("%-9s %s\n", list->items[i].key, list->items[i].text);
      continue;
    }
    printf("%s\n  \"%s\": ", i ? "," : "", list->items[i].key);
    cli_json_text(stdout, list->items[i].text);
  }
  if (json) printf("\n}\n");
}

/* Before the device is opened, which may pin this thread. */
static int add_cpus(cli_tool *cli, facts *list) {
  cli_cpus given;
  char allowed[256], pinned[256];
  const int code = cli_read_cpus(cli, &given);
  if (code != CLI_EXIT_OK) return code;
  cli_cpus_text(NULL, 0, allowed, sizeof allowed);
  cli_cpus_text(given.cpus, given.count, pinned, sizeof pinned);
  add(list, "cpus", "%s may be used, %s%s", allowed, given.count ? "threads are pinned to " : "no thread is pinned",
      given.count ? pinned : "");
  return CLI_EXIT_OK;
}

int cli_command_doctor(cli_tool *cli) {
  static facts list;
  add(&list, "hone", "%s", hone_version());
  int code = add_cpus(cli, &list);
  if (code == CLI_EXIT_OK) code = cli_open_device(cli);
  if (code != CLI_EXIT_OK) return code;
  code = cli_measure_device(cli);
  if (code != CLI_EXIT_OK) return code;
  hone_facts device = HONE_SIZED(hone_facts);
  hone_device_facts(cli->device, &device);
  add_device(&list, &device);
  add_libraries(&list);
  add_gpu(cli, &list);
  add_cache(&list);
  print(cli, &list);
  cli_next(cli, "hone zoo mobilenet_v2 -o mobilenet_v2.onnx", "");
  return CLI_EXIT_OK;
}
