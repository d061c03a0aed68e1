/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - what it takes to give a device a replay and to wait for it, measured by itself: replays of copies of a few
 * bytes, one and several of them, by the host's clock. What the length adds is a copy and the gap in front of it; the
 * rest is the launch. It comes from no run of the network, so that layers, gaps and launches can be held against one.
 */
#include "run/session.h"
#include "base/clock.h"
#include <stdlib.h>

enum { FEW_BYTES = 256, LONGER = 9, TIMES = 101, FIRST = 20 }; /* FIRST: not counted */

static hone_status record_copies(hone_device *device, hone_stream *stream, const hone_memory *memory, int count,
                                 hone_replay **out, hone_diagnostics *diag) {
  hone_status status = hn_stream_record(device, stream);
  if (status != HONE_OK) return HN_FAIL(diag, status, "device %s does not record", device->backend->name);
  for (int i = 0; i < count && status == HONE_OK; ++i)
    status = hn_stream_move(device, stream, (hn_place_at){(void *)(uintptr_t)memory->address, false},
                            (hn_place_at){(void *)(uintptr_t)(memory->address + FEW_BYTES), false}, FEW_BYTES);
  const hone_status kept = hn_stream_keep(device, stream, out, diag); /* ends recording in any case */
  if (status != HONE_OK) return HN_FAIL(diag, status, "device %s does not record a copy", device->backend->name);
  return kept;
}

static int compare_times(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static hone_status time_replay(hone_device *device, hone_stream *stream, const hone_replay *replay,
                               hone_diagnostics *diag, double *out_ns) {
  int64_t taken[TIMES];
  for (int i = -FIRST; i < TIMES; ++i) {
    const int64_t begin_ns = hn_clock_ns();
    const hone_status status = hn_stream_replay(device, stream, replay);
    if (status != HONE_OK) return HN_FAIL(diag, status, "device %s does not replay", device->backend->name);
    HN_TRY(hn_stream_wait(device, stream, diag));
    if (i >= 0) taken[i] = hn_clock_ns() - begin_ns;
  }
  qsort(taken, TIMES, sizeof *taken, compare_times);
  *out_ns = (double)taken[TIMES / 2];
  return HONE_OK;
}

hone_status hn_profile_launch(hone_session *session, int d, double *out_ns) {
  hone_device *device = session->engine->devices[d];
  hone_stream *stream = session->streams[d];
  hone_replay *replays[2] = {NULL, NULL};
  double taken_ns[2] = {0, 0};
  hone_memory memory;
  const int messages = session->diag.count;
  *out_ns = 0;
  HN_TRY(hn_memory_alloc(device, 2 * FEW_BYTES, &memory, &session->diag));
  hone_status status = HONE_OK;
  for (int r = 0; r < 2 && status == HONE_OK; ++r) {
    status = record_copies(device, stream, &memory, r ? LONGER : 1, &replays[r], &session->diag);
    if (status == HONE_OK) status = time_replay(device, stream, replays[r], &session->diag, &taken_ns[r]);
  }
  for (int r = 0; r < 2; ++r) hn_replay_forget(device, replays[r]);
  hn_memory_free(device, &memory);
  const double each_ns = (taken_ns[1] - taken_ns[0]) / (LONGER - 1), launch_ns = taken_ns[0] - each_ns;
  if (status == HONE_DEVICE || status == HONE_NO_MEMORY) return status;
  if (status != HONE_OK) { /* backends of plug-ins may record launches alone: then it is not told */
    hn_diag_cut(&session->diag, messages);
    return HONE_OK;
  }
  *out_ns = launch_ns > 0 ? launch_ns : 0;
  return HONE_OK;
}
