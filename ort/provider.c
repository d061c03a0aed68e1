/* SPDX-License-Identifier: Apache-2.0 */
/* provider.c - one session's provider: its options, hone's context and device, and what it says of compiled models. */
#include "ep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *get_name(const ort_ep *ep) {
  (void)ep;
  return EP_NAME;
}

static void on_log(void *user, hone_log_level level, const char *line) {
  const ep_provider *provider = user;
  const int severity = level == HONE_LOG_WARN   ? ORT_LOG_WARNING
                       : level == HONE_LOG_INFO ? ORT_LOG_INFO
                                                : ORT_LOG_VERBOSE;
  ep_log(provider->ort, provider->logger, severity, "hone: %s", line);
}

/* Engines run where the version and the instruction sets that they were built for are: a line that says these. */
static void describe(const char *isa, char *out, size_t room) {
  (void)snprintf(out, room, "hone %s; %s", hone_version(), isa);
}

static const char *get_compatibility(ort_ep *ep, const OrtGraph *graph) {
  (void)graph;
  return ((const ep_provider *)ep)->compatibility;
}

static OrtStatus *open_device(ep_provider *p) {
  const hone_context_options context_options = {.struct_size = sizeof context_options,
                                                .log = on_log,
                                                .log_user = p,
                                                .log_level =
                                                    ep_logs(p->ort, p->logger, ORT_LOG_VERBOSE) ? HONE_LOG_VERBOSE
                                                    : ep_logs(p->ort, p->logger, ORT_LOG_INFO)  ? HONE_LOG_INFO
                                                                                                : HONE_LOG_WARN};
  hone_status status = hone_context_create(&context_options, &p->context);
  if (status != HONE_OK) return ep_fail_memory(p->ort);
  const hone_device_options device_options = {.struct_size = sizeof device_options, .threads = p->options.threads};
  status = hone_device_open(p->context, p->options.device, p->options.device_index, &device_options, &p->device);
  if (status != HONE_OK) return ep_fail_context(p, status, "the device cannot be opened");
  hone_facts facts = HONE_SIZED(hone_facts);
  hone_device_facts(p->device, &facts);
  p->threads = facts.threads;
  hone_isa_text(facts.isa, p->isa, sizeof p->isa);
  describe(p->isa, p->compatibility, sizeof p->compatibility);
  return NULL;
}

OrtStatus *ep_validate_compatibility(ort_ep_factory *table, const OrtHardwareDevice *const *devices, size_t count,
                                     const char *info, int *out) {
  const ep_factory *factory = (const ep_factory *)table;
  char isa[128], here[512];
  hone_context *context = NULL;
  hone_device *device = NULL;
  (void)devices;
  (void)count;
  *out = ORT_COMPILED_NOT_APPLICABLE;
  if (!info) return ep_fail(&factory->ort, ORT_ERROR_INVALID_ARGUMENT, "hone: there is no compatibility information");
  if (strncmp(info, "hone ", 5) != 0) return NULL; /* another provider's */
  const hone_device_options options = {.struct_size = sizeof options, .threads = 1};
  hone_status status = hone_context_create(NULL, &context);
  if (status == HONE_OK) status = hone_device_open(context, "cpu", 0, &options, &device);
  if (status == HONE_OK) {
    hone_facts facts = HONE_SIZED(hone_facts);
    hone_device_facts(device, &facts);
    hone_isa_text(facts.isa, isa, sizeof isa);
  }
  hone_device_close(device);
  hone_context_destroy(context);
  if (status != HONE_OK) return ep_fail(&factory->ort, ORT_ERROR_FAIL, "hone: the CPU cannot be opened");
  describe(isa, here, sizeof here);
  *out = strcmp(info, here) == 0 ? ORT_COMPILED_OPTIMAL : ORT_COMPILED_UNSUPPORTED;
  return NULL;
}

OrtStatus *ep_provider_create(ep_factory *factory, const OrtSessionOptions *options, const OrtLogger *logger,
                              ep_provider **out) {
  *out = NULL;
  ep_provider *p = calloc(1, sizeof *p);
  if (!p) return ep_fail_memory(&factory->ort);
  *p = (ep_provider){.table = {.ort_version_supported = factory->version,
                               .GetName = get_name,
                               .GetCapability = ep_get_capability,
                               .Compile = ep_compile,
                               .ReleaseNodeComputeInfos = ep_release_infos,
                               .GetCompiledModelCompatibilityInfo = get_compatibility},
                     .factory = factory,
                     .ort = &factory->ort,
                     .logger = logger};
  OrtStatus *status = ep_options_read(factory, options, &p->options);
  if (status) {
    free(p);
    return status;
  }
  if (pthread_mutex_init(&p->building, NULL) != 0) status = ep_fail_memory(p->ort);
  if (!status) status = open_device(p);
  if (status) {
    ep_provider_destroy(p);
    return status;
  }
  *out = p;
  return NULL;
}

void ep_provider_destroy(ep_provider *provider) {
  if (!provider) return;
  hone_device_close(provider->device);
  hone_context_destroy(provider->context);
  (void)pthread_mutex_destroy(&provider->building);
  ep_options_free(&provider->options);
  free(provider);
}
