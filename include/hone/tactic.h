/* SPDX-License-Identifier: Apache-2.0 */
/* tactic.h - the tactic row: one way to run one operator on one kind of device. */
#ifndef HONE_TACTIC_H
#define HONE_TACTIC_H

#include <hone/op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_unit hone_unit; /* one opened unit of a backend: a CPU, a GPU */
typedef struct hone_stream hone_stream;

/* The roofs of a roofline (Williams, Waterman and Patterson 2009): operations a second by the type that is multiplied,
 * and bytes read a second by where they lie. Of all threads together. */
typedef enum hone_roof {
  HONE_ROOF_F64,
  HONE_ROOF_F32,
  HONE_ROOF_TF32,
  HONE_ROOF_F16,
  HONE_ROOF_BF16,
  HONE_ROOF_FP8,
  HONE_ROOF_INT8,
  HONE_ROOF_L1,
  HONE_ROOF_L2,
  HONE_ROOF_L3,
  HONE_ROOF_MEMORY,
  HONE_ROOF_COUNT
} hone_roof;

/* What a device says of itself. Roofs are measured (not from a data sheet). */
typedef struct hone_facts {
  uint32_t struct_size;
  char name[96];
  char version[64];     /* of the driver or of the kernel library: part of the timing cache's key */
  uint32_t isa;         /* bit set: of hone_isa for CPUs; for GPUs one bit for each generation up to its own */
  uint32_t isa_refused; /* a CPU's sets that are there and that the operating system does not grant (tiles) */
  int threads;
  double roofs[HONE_ROOF_COUNT];   /* the fastest pass; 0: not measured, or there is no unit or cache for it */
  double clock_hz;                 /* of a core while the roofs were measured; 0: not known */
  double spreads[HONE_ROOF_COUNT]; /* what the median pass was slower, as a share of the fastest */
  int cores;                       /* that the threads share: as many, or fewer where cores run several; 0: not known */
  /* Multiply-adds that a core of this model begins a clock: ports of so many lanes, by type; 0: not known. */
  uint16_t ports[HONE_ROOF_L1], lanes[HONE_ROOF_L1];
  size_t l1_bytes, l2_bytes, l3_bytes;
  bool host_memory;    /* its memory is the host's: copies from and to the host are not needed */
  bool described;      /* a machine on paper: what would be built for it can be told, and nothing runs on it */
  int process_threads; /* a device in the host's memory: how many threads it has where no number is given, which is what
                        * this process may use at most; 0: not known */
} hone_facts;

/* Named parameters of a variant, e.g. {"oc_blocks", 4}. Stored in engines, locks and timing caches. */
#define HONE_MAX_PARAMS 6
typedef struct hone_param {
  char name[24];
  int64_t value;
} hone_param;
typedef struct hone_params {
  int count;
  hone_param items[HONE_MAX_PARAMS];
} hone_params;

/* What is asked of a tactic. All dims are known numbers; in[i].type.format and out[i].type.format are the formats in
 * question; in[i].constant is set for inputs that are constants, except at run time for those that pack consumed;
 * constant_mask says which of the first 32 inputs are constants. The bytes of in[i].constant are always the host's,
 * also where launch gets the constant in a device's memory. op, attrs and constants outlive every state prepared from
 * the query. */
typedef struct hone_query {
  const struct hone_tactic *tactic; /* the row that is asked */
  const hone_op *op;
  const hone_attrs *attrs;
  int in_count, out_count;
  const hone_fact *in, *out;
  uint32_t constant_mask;
  const hone_facts *facts;
  const hone_params *params; /* NULL in variants(), and in plan() where only acceptance counts */
} hone_query;

/* What a tactic needs for one query; sizes in bytes. plan finds zeros, and the row's efficiency. */
typedef struct hone_needs {
  size_t state;   /* what launch reads: made with a session or shape instance */
  size_t scratch; /* of one launch */
  size_t packed;  /* what pack writes; depends on neither facts nor the values of constants */
  /* The share of its instruction set's peak that it is expected to reach, for estimates: order of timing, pruning,
   * builds without timing. Above 1 for algorithms with fewer operations than the op's cost counts. 0: 0.6. */
  double efficiency;
} hone_needs;

/* How the activations lie: every input and output that is no PARAM port has this storage, as far as it can: only what
 * is f32 in the graph is held in a narrower type, and only tensors of rank >= 3 carry a blocked format. */
typedef struct hone_storage_pair {
  hone_storage in, out;
} hone_storage_pair;
#define HONE_MAX_STORAGE_PAIRS 4

/* Memory of one launch. Pointers (data, packed, scratch) are host or device addresses, as the device's memory is. */
typedef struct hone_launch {
  int in_count, out_count;
  const hone_tensor *in; /* inputs consumed by pack have data NULL */
  hone_tensor *out;
  const void *packed; /* what pack wrote, aligned to 64 */
  void *scratch;      /* hone_needs.scratch bytes, aligned to 64 */
  void *host;         /* of the session: for after-run extents */
  hone_status (*resize)(void *host, int output, int rank, const int64_t *dims); /* NULL unless HONE_AFTER_RUN */
  hone_diagnostics *diagnostics;
  void *(*keep)(void *host, size_t bytes); /* as hone_eval.keep; NULL where resize is */
  /* The stream as the device's driver knows it (CUstream), for tactics of plug-ins that launch kernels of their own; in
   * prepare and launch the device is the thread's current one. What such a tactic puts into it is recorded and replayed
   * where its row says HONE_TACTIC_CAPTURABLE; it must not wait for the stream. NULL: the host. */
  void *native_stream;
  /* How many rows a session's states hold (hone_session_set_state_length); NULL where a session has none. */
  const int64_t *state_length;
  /* What the next call with HONE_TACTIC_STREAMS reads, in this run or in the next one: threads that wait may fetch the
   * begins of their parts into their caches meanwhile. NULL: unknown. */
  const void *next_packed;
  size_t next_bytes;
} hone_launch;

/* An input and the output that continues it: past keys and all keys. */
#define HONE_MAX_STATE_PORTS 2
typedef struct hone_state_ports {
  int8_t in, out;
} hone_state_ports;

enum {                             /* flags */
       HONE_TACTIC_REPEATABLE = 1, /* same bits every time, at any thread count */
       HONE_TACTIC_CAPTURABLE = 2, /* its launches may be recorded and replayed */
       HONE_TACTIC_REFERENCE = 8,  /* the last resort: never timed against others when one of them accepts */
       HONE_TACTIC_DATA_DEPENDENT =
           32,                        /* for steps whose extents are known only after running: prepare knows no types */
       HONE_TACTIC_PLAIN_UNITS = 64,  /* a device's: it multiplies in a narrow type, but not on units for matrices */
       HONE_TACTIC_TWO_OF_FOUR = 128, /* it takes weights of which of each four two are zero, and none but such */
       /* its states' outputs are the inputs and new rows behind them on axis 2: where they are one memory, which has
        * room for the input's rows, launch writes the new ones alone, from row hone_launch.state_length on */
       HONE_TACTIC_APPENDS = 256,
       HONE_TACTIC_STREAMS = 512, /* it reads what was packed once; of T threads the t-th reads the t-th part */
       HONE_TACTIC_IN_PLACE = 16  /* output 0 may be the memory of any input of the same type and byte size */
};

typedef struct hone_tactic {
  uint32_t struct_size;
  const char *name; /* stored in engines and timing caches: never renamed */
  uint32_t version; /* raised when its results, parameters or packing change */
  const char *op;   /* the op's name; "*" for any, "*elementwise" for any with that trait */
  uint32_t isa;     /* needed bits of hone_facts.isa */
  uint32_t flags;
  double bound; /* largest relative L2 error against ref that is acceptable; 0: by `compute` and the storages */
  uint32_t
      pack_mask; /* inputs (of the first 32) that pack consumes: they must be constants and are not given to launch */
  hone_storage_pair
      storages[HONE_MAX_STORAGE_PAIRS]; /* ends at a repeated {HONE_PLAIN, HONE_PLAIN}; the first may be it */
  hone_dtype compute; /* what it multiplies in, where that is narrower than f32; NONE: as wide as what it reads */

  /* Reads the query once. NULL when accepted, and *needs says what it takes; else the reason against it in words
   * (static storage). state NULL: it is only asked. Else state is needs->state bytes of zeroed memory, aligned to 64,
   * that it fills for launch. Of the facts it may ask host_memory and the bits of its own isa to accept or to decline:
   * an engine's file is checked with those, before a device is known. */
  const char *(*plan)(const hone_query *query, void *state, hone_needs *needs);
  const void *kernel; /* what tells this row from the others of its family, of a type that the family knows */

  /* Writes at most room variants and returns how many; NULL: one without parameters. */
  int (*variants)(const hone_query *query, hone_params *out, int room);
  /* Reads query->in[i].constant; `to` is zeroed. Several threads may pack different nodes at a time. */
  hone_status (*pack)(const hone_query *query, void *to);
  /* Optional: what takes a library's handle, compiled code or memory of its own, when a session or shape instance is
   * made; state is as plan filled it, and release drops what it holds. */
  hone_status (*prepare)(hone_unit *unit, const hone_query *query, void *state, hone_diagnostics *diagnostics);
  void (*release)(void *state);
  /* Never allocates, compiles, or fails for lack of anything that planning could have found. */
  hone_status (*launch)(void *state, hone_stream *stream, const hone_launch *launch);
  /* Optional, for tactics that only move bytes: input and output hold the same bytes when the smaller of the two lies
   * at the returned byte offset of the larger; -1: they never do. The memory plan may then place one in the other, and
   * launch leaves alone what already is where it belongs (equal addresses). */
  int64_t (*overlay)(const hone_query *query, int input, int output);
  /* hone_needs.efficiency where it does not depend on the query. */
  double efficiency;
  /* An algorithm that needs fewer operations than the op's cost counts ("Winograd F(4x4,3x3)"), and how many times
   * fewer at most; NULL and 0: none. */
  const char *algorithm;
  double fewer;
  const char *library; /* the vendor's library that it calls, as users know it ("CUBLAS_LT"); NULL: none */
  /* Optional: prepare will be asked for this query soon, others may come between, or it is not asked after all. What
   * takes long and needs neither the host nor the caller's memory may be begun beside them. */
  void (*expect)(hone_unit *unit, const hone_query *query);
  /* Pairs whose output may be the very memory of the input, as sessions keep caches: launch then writes what is new and
   * leaves alone what already is where it belongs (equal addresses). */
  hone_state_ports states[HONE_MAX_STATE_PORTS];
  int state_count;
} hone_tactic;

#ifdef __cplusplus
}
#endif
#endif
