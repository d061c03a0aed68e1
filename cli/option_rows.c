/* SPDX-License-Identifier: Apache-2.0 */
/* option_rows.c - the options that several commands share. A command's table list puts them together. */
#include "cli.h"

const cli_option cli_common_options[] = {
    {"help", CLI_FLAG, .doc = "what is often wanted"},
    {"h", CLI_FLAG, .same_as = "help"},
    {"help-all", CLI_FLAG, .doc = "all options, with their other spellings"},
    {"json", CLI_FLAG, .doc = "the result as JSON"},
    {"verbose", CLI_FLAG, .doc = "more detail on standard error"},
    {"quiet", CLI_FLAG, .doc = "no notes and no progress on standard error"},
    {"deadline", CLI_INT, "MS", .doc = "time limit in milliseconds; exceeding it fails (exit 9)", .low = 1,
     .high = 1e12},
    {"memory-limit", CLI_SIZE, "SIZE",
     .doc = "memory limit in MiB, or with a suffix as 2G; exceeding it fails (exit 6); default: 3/4 of the machine's"},
    {"plugins", CLI_LIST, "FILE", .doc = "load operators from a shared object; may be repeated"},
    {"dynamicPlugins", CLI_LIST, "FILE", .same_as = "plugins"},
    {"staticPlugins", CLI_LIST, "FILE", .same_as = "plugins"},
    {0},
};

const cli_option cli_model_options[] = {
    {"allow-external-links", CLI_FLAG, .doc = "read a model's external data also through links that leave its folder"},
    {"model", CLI_TEXT, "FILE", .doc = "an ONNX model, graph text or an engine, recognised by content"},
    {"m", CLI_TEXT, "FILE", .same_as = "model"},
    {0},
};

const cli_option cli_device_options[] = {
    {"device", CLI_TEXT, "KIND", .doc = "cpu (default), gpu or gpu:N, ref (slow and plain), null (a fake clock)",
     .often = true},
    {"threads", CLI_OPTIONAL_INT, "N", .doc = "threads; default: one for each core, or for each of --cpus", .low = 1,
     .high = 256, .often = true},
    {"hint", CLI_TEXT, "GOAL",
     .doc = "latency (default): all threads work on one run; throughput: one thread, and as many streams (hone bench) "
            "as there are cores; --threads and --streams decide where they are given",
     .often = true},
    {"cpus", CLI_TEXT, "0-3,6", .doc = "pin thread i to the i-th of these CPUs"},
    {"affinity", CLI_TEXT, "LIST", .same_as = "cpus"},
    {"spin", CLI_INT, "US", .doc = "how long an idle thread spins before it sleeps; default 100, 0: not at all",
     .low = 0, .high = 1e8},
    {"useSpinWait", CLI_FLAG, .doc = "idle threads keep spinning: the same as --spin 1000000"},
    {"noSpinWait", CLI_FLAG, .doc = "idle threads sleep at once: the same as --spin 0"},
    {0},
};

const cli_option cli_schedule_options[] = {
    {"schedule", CLI_INT, "K",
     .doc = "only the engine's schedule K, from 0 on; default: the one tuned nearest to the shapes", .high = 15},
    {"useProfile", CLI_INT, "K", .same_as = "schedule"},
    {0},
};

const cli_option cli_session_options[] = {
    {"instance-cache", CLI_INT, "N", .doc = "prepared shapes that a session keeps; default 4", .low = 1, .high = 65536},
    {"heap-limit", CLI_SIZE, "SIZE",
     .doc = "memory limit for tensors whose shapes are data-dependent, in MiB or with a suffix as 2G; default 1G"},
    {"no-replay", CLI_FLAG,
     .doc = "launch every step separately, also on a GPU, where recorded runs of steps are replayed otherwise"},
    {"noCudaGraph", CLI_FLAG, .same_as = "no-replay"},
    {"useCudaGraph", CLI_FLAG, .doc = "already the default: recorded runs of steps are replayed"},
    {0},
};

const cli_option cli_build_options[] = {
    {"shapes", CLI_LIST, "NAME:1x3x8x8", .doc = "shapes of inputs; separated by commas", .often = true},
    {"profile", CLI_INT, "K",
     .doc = "the shape options that follow are of profile K, which gets a schedule of its own; default 0", .high = 15},
    {"minShapes", CLI_LIST, "NAME:DIMS", .doc = "smallest shapes of free dims"},
    {"optShapes", CLI_LIST, "NAME:DIMS", .doc = "shapes to tune for"},
    {"maxShapes", CLI_LIST, "NAME:DIMS", .doc = "largest shapes of free dims"},
    {"level", CLI_INT, "0..5", .doc = "tuning effort: 0 times nothing, 5 everything; default 3 (docs/TUNING.md)",
     .high = 5, .often = true},
    {"time-budget", CLI_REAL, "S",
     .doc = "time budget of tuning in seconds; after it, or at an interrupt, estimates choose the rest", .low = 0.001,
     .high = 1e9, .often = true},
    {"bf16", CLI_FLAG, .doc = "allow layers to compute and to hold values in bf16, where that is faster",
     .often = true},
    {"fp16", CLI_FLAG, .doc = "allow layers to compute and to hold values in f16, where that is faster"},
    {"tf32", CLI_FLAG, .doc = "allow a GPU's layers to multiply f32 with ten bits behind the point (tf32)"},
    {"max-error", CLI_REAL, "E",
     .doc = "relative L2 that outputs may be from those of f32: layers return to f32 until it holds; hone verify holds "
            "a model's outputs against the reference's with it (default 1e-4; integers must be equal)",
     .high = 1e6, .often = true},
    {"best", CLI_FLAG, .doc = "allow every type that there are tactics for: bf16, f16 and tf32"},
    {"device-io", CLI_FLAG,
     .doc = "inputs and outputs lie in the GPU's memory, where the caller's kernels write and read them"},
    {"maxAuxStreams", CLI_INT, "N",
     .doc = "streams beside the first for branches of a GPU's graph, kept where timed faster; default: up to 3",
     .high = HONE_MAX_LANES - 1},
    {"strict-device", CLI_FLAG,
     .doc = "fail (exit 4) where a step would run on the host and not on the GPU, and name it"},
    {"reference", CLI_FLAG, .doc = "run every layer on the reference implementation (slow)"},
    {"disable", CLI_LIST, "PASS", .doc = "disable a pass or a rule (hone passes --list)"},
    {"tactic", CLI_LIST, "NODE=TACTIC[:P=N]", .doc = "allow only this tactic there; globs; NODE=parts: not fused"},
    {"tactic-sources", CLI_LIST, "+NAME,-NAME",
     .doc = "leave out (-) or take back (+) tactics of a provider (CPU, REF, CUDA), a library (CUBLAS_LT) or an "
            "instruction set (AVX512)"},
    {"max-tactics", CLI_INT, "N", .doc = "maximum number of candidates timed per layer; default -1: by level",
     .low = -1, .high = 1e6},
    {"lock", CLI_TEXT, "FILE", .doc = "take the choices from the file; when it is absent, write them there",
     .writes = CLI_WRITES_WHEN_ABSENT, .often = true},
    {"timing-cache", CLI_TEXT, "FILE", .doc = "measured times, read and updated; builds side by side may share it",
     .writes = CLI_WRITES_FILE, .often = true},
    {"timing-cache-only", CLI_FLAG, .doc = "fail (exit 4) if a layer is not in the timing cache"},
    {"timing-runs", CLI_INT, "N", .doc = "timed runs of a candidate; default: by level", .low = 1, .high = 100000},
    {"scratch-limit", CLI_INT, "MIB", .doc = "reject tactics that need more scratch memory", .low = 1, .high = 1e9},
    {"memPoolSize", CLI_TEXT, "workspace:SIZE", .doc = "the same limit; SIZE in MiB, or with a suffix B, K, M or G"},
    {"keep-subnormals", CLI_FLAG,
     .doc = "keep subnormal numbers (below 1.2e-38) instead of flushing them to zero: exact, and slow where there are "
            "many"},
    {"seed", CLI_INT, "N", .doc = "seed of random inputs and tuning data; default 0", .often = true},
    {0},
};

const cli_option cli_input_options[] = {
    {"input", CLI_LIST, "NAME=FILE",
     .doc = ".npy, ONNX tensor .pb, raw .bin, or an image; inputs not given are random"},
    {"i", CLI_LIST, "NAME=FILE", .same_as = "input"},
    {0},
};

const cli_option cli_image_options[] = {
    {"resize", CLI_TEXT, "WxH|short:N", .doc = "bilinear; default: the input's size"},
    {"crop", CLI_TEXT, "WxH", .doc = "from the centre, after resizing; default: the input's size"},
    {"mean", CLI_TEXT, "R,G,B", .doc = "subtracted after scaling; default 0"},
    {"std", CLI_TEXT, "R,G,B", .doc = "divided by, after that; default 1"},
    {"scale", CLI_REAL, "X", .doc = "factor of the bytes 0..255; default 1/255 for real inputs, 1 for integers"},
    {"layout", CLI_TEXT, "nchw|nhwc", .doc = "default: nchw unless only the last dim is 1 or 3"},
    {"channels", CLI_TEXT, "rgb|bgr", .doc = "order of the channels; default rgb"},
    {0},
};
