/* SPDX-License-Identifier: Apache-2.0 */
/* option_trt.c - trtexec's spellings, those of the help of its versions 10 and 11 and a few that older scripts still
 * carry. Each has an effect or is a "not yet" row that says what does the job here. */
#include "cli.h"

/* Types narrower than the model's, beside --fp16, --bf16 and --best: 8 and 4 bits, and types by layer. */
const cli_option cli_precision_options[] = {
    {"int8", CLI_FLAG, .doc = "quantise a model in f32 first, as hone quantize does, by the data of --calib",
     .often = true},
    {"int4", CLI_FLAG,
     .doc = "round the weights of a model in f32 to four bits first, as hone quantize --weights int4 does",
     .often = true},
    {"calib", CLI_TEXT, "FOLDER|FILE", .doc = "calibration data, or a file of ranges: hone's or trtexec's",
     .often = true},
    {"calib-count", CLI_INT, "N", .doc = "samples to use, the first by name; default 64", .low = 1, .high = 1e6},
    {"precisionConstraints", CLI_TEXT, "none|prefer|obey",
     .doc = "whether --layerPrecisions and --layerOutputTypes are ignored, preferred or required (the default)"},
    {"layerPrecisions", CLI_LIST, "NODE:TYPE",
     .doc = "the type a layer reads and multiplies in: fp32, fp16, bf16 or tf32 for one of fp32, else its own; * "
            "matches any name; separated by commas"},
    {"layerOutputTypes", CLI_LIST, "NODE:TYPE", .doc = "the types that a layer's outputs are held in, separated by +"},
    {0},
};

const cli_option cli_trt_build_options[] = {
    {"onnx", CLI_TEXT, "FILE", .same_as = "model"},
    {"saveEngine", CLI_TEXT, "FILE", .same_as = "output"},
    {"timingCacheFile", CLI_TEXT, "FILE", .same_as = "timing-cache"},
    {"builderOptimizationLevel", CLI_INT, "0..5", .same_as = "level"},
    {"errorOnTimingCacheMiss", CLI_FLAG, .same_as = "timing-cache-only"},
    {"avgTiming", CLI_INT, "N", .same_as = "timing-runs"},
    {"maxTactics", CLI_INT, "N", .same_as = "max-tactics"},
    {"tacticSources", CLI_LIST, "+NAME,-NAME", .same_as = "tactic-sources"},
    {"noTF32", CLI_FLAG, .doc = "no effect: f32 is computed in f32, unless --tf32 or --best allow more"},
    {"inputIOFormats", CLI_LIST, "TYPE:FORMAT",
     .doc = "type and format of all inputs, or of each in order: the model's types in chw; with --device-io fp16 and "
            "bf16, too, and hwc8"},
    {"outputIOFormats", CLI_LIST, "TYPE:FORMAT", .doc = "the same for the outputs"},
    {"skipInference", CLI_FLAG, .doc = "build and save only"},
    {"buildOnly", CLI_FLAG, .same_as = "skipInference"},
    {"stronglyTyped", CLI_FLAG,
     .doc =
         "keep the model's types: options that allow others are an error beside it (without them it is the default)"},
    {"monitorMemory", CLI_FLAG, .doc = "say how much memory the process had at most when the engine was built"},
    {"refit", CLI_FLAG, .doc = "keep in the engine what hone refit needs to give it other weights"},
    {"stripWeights", CLI_FLAG,
     .doc = "write the engine without its weights: hone refit gives it those of a model; nothing runs before"},
    {"stripAllWeights", CLI_FLAG, .same_as = "stripWeights"},
    {"weightless", CLI_FLAG, .same_as = "stripWeights"},
    {"embed-model", CLI_FLAG,
     .doc =
         "put the model into the engine, whole (up to 2 GiB): hone build --from builds it anew where the engine does "
         "not fit, on another machine or by another version"},
    {"versionCompatible", CLI_FLAG, .same_as = "embed-model"},
    {"vc", CLI_FLAG, .same_as = "embed-model"},
    {"explicitBatch", CLI_FLAG, .doc = "no effect: the batch is always an axis of the inputs"},
    {"dumpLayerInfo", CLI_FLAG, .doc = "print the engine's steps"},
    {"exportLayerInfo", CLI_TEXT, "FILE", .doc = "write the engine's steps as JSON", .writes = CLI_WRITES_IN_PLACE},
    {"profilingVerbosity", CLI_TEXT, "LEVEL",
     .doc = "of --dumpLayerInfo: none, layer_names_only or detailed (the default); layers always keep their names"},
    {"dumpOptimizationProfile", CLI_FLAG, .doc = "print the smallest, tuned and largest shapes of the inputs"},
    {0},
};

const cli_option cli_load_inputs_options[] = {
    {"loadInputs", CLI_LIST, "NAME:FILE", .doc = "inputs from files, trtexec's way; separated by commas"},
    {0},
};

const cli_option cli_trt_bench_options[] = {
    {"loadEngine", CLI_TEXT, "FILE", .same_as = "model"},
    {"iterations", CLI_INT, "N", .doc = "minimum number of runs; default 10", .low = 1, .high = 1e9},
    {"duration", CLI_REAL, "S", .doc = "minimum duration in seconds; default 3", .high = 1e6},
    {"warmUp", CLI_REAL, "MS", .doc = "warm-up time before measuring; default 200", .high = 1e6},
    {"sleepTime", CLI_REAL, "MS", .doc = "pause between the warm-up and the first run", .high = 1e6},
    {"idleTime", CLI_REAL, "MS", .doc = "pause after each run", .high = 1e6},
    {"includeDataTransfers", CLI_FLAG, .doc = "copy the inputs in and the outputs out at each run, and measure it"},
    {"noDataTransfers", CLI_FLAG, .doc = "copy nothing: the inputs stay in place (the default)"},
    {"avgRuns", CLI_INT, "N", .doc = "number of runs averaged in each trace line; default 10", .low = 1, .high = 1e6},
    {"percentile", CLI_TEXT, "P,P", .doc = "default 90,95,99"},
    {"dumpProfile", CLI_FLAG, .doc = "print the layers' times, measured in a pass of their own"},
    {"exportProfile", CLI_TEXT, "FILE", .doc = "write the layers' times as JSON", .writes = CLI_WRITES_IN_PLACE},
    {"separateProfileRun", CLI_FLAG, .doc = "no effect: layers are always profiled in a pass of their own"},
    {"exportTimes", CLI_TEXT, "FILE", .doc = "write each run's times as JSON", .writes = CLI_WRITES_IN_PLACE},
    {"dumpOutput", CLI_FLAG, .doc = "print the outputs of the last run"},
    {"exportOutput", CLI_TEXT, "FILE", .doc = "write the outputs of the last run as JSON",
     .writes = CLI_WRITES_IN_PLACE},
    {"dumpRawBindingsToFile", CLI_OPTIONAL_TEXT, "DIR",
     .doc = "write inputs and outputs of the last run as NAME.input.DIMS.DTYPE.bin; default: into this folder",
     .writes = CLI_WRITES_FOLDER},
    {"getPlanVersionOnly", CLI_FLAG, .doc = "print which version built the engine, and do nothing else"},
    {"refitFromOnnx", CLI_TEXT, "FILE",
     .doc = "give the engine the weights of this model before it is measured or saved"},
    {"timeRefit", CLI_FLAG,
     .doc = "say how long that takes; of a model that was built with --refit: with its own weights"},
    {"dumpRefit", CLI_FLAG,
     .doc = "list the weights that hone refit gives, and the model's constants that they come from"},
    {"timeDeserialize", CLI_FLAG, .doc = "time how long opening the engine and its session takes, and do nothing else"},
    {0},
};

#define PRECISION "hone computes in the model's own types, in bf16, f16, tf32 and bytes"
#define WEIGHTS "engines keep their weights"
#define ENGINE "an engine is one file, which says which version and CPU features it needs"
#define DLA "there is no such device"
#define PLUGINS "plug-ins are opened by --plugins and stay in their own files"
#define PROFILE "calibration runs at the shapes that the samples have"
#define MEMORY "a session takes its memory when it is opened, and none later"
#define TILING "regions are chosen by the times of their tactics"
const cli_option cli_trt_not_yet[] = {
    {"fp8", CLI_NOT_YET, .doc = PRECISION},
    {"sparsity", CLI_NOT_YET, .doc = "there are no sparse tactics"},
    {"layerDeviceTypes", CLI_NOT_YET, .doc = DLA},
    {"decomposableAttentions", CLI_NOT_YET, .doc = "attention is fused where a tactic has its shape"},
    {"directIO", CLI_NOT_YET, .doc = "hone show lists the converts at the inputs and outputs"},
    {"pluginInstanceNorm", CLI_NOT_YET, .doc = "instance normalisation is built in"},
    {"pi", CLI_NOT_YET, .doc = "instance normalisation is built in"},
    {"uint8AsymmetricQuantizationDLA", CLI_NOT_YET, .doc = DLA},
    {"persistentCacheRatio", CLI_NOT_YET, .doc = "it is for the L2 caches of GPUs"},
    {"preview", CLI_NOT_YET, .doc = "there are no preview features"},
    {"tempdir", CLI_NOT_YET, .doc = "nothing is written beside the engine"},
    {"tempfileControls", CLI_NOT_YET, .doc = "nothing is written beside the engine"},
    {"refitPercentage", CLI_NOT_YET, .doc = WEIGHTS},
    {"allowWeightStreaming", CLI_NOT_YET, .doc = WEIGHTS},
    {"weightStreamingBudget", CLI_NOT_YET, .doc = WEIGHTS},
    {"hardwareCompatibilityLevel", CLI_NOT_YET, .doc = ENGINE},
    {"runtimePlatform", CLI_NOT_YET, .doc = ENGINE},
    {"excludeLeanRuntime", CLI_NOT_YET, .doc = ENGINE},
    {"useRuntime", CLI_NOT_YET, .doc = ENGINE},
    {"leanDLLPath", CLI_NOT_YET, .doc = ENGINE},
    {"engineCapability", CLI_NOT_YET, .doc = ENGINE},
    {"safe", CLI_NOT_YET, .doc = "there is no safety-certified runtime"},
    {"restricted", CLI_NOT_YET, .doc = "there is no safety-certified runtime"},
    {"consistency", CLI_NOT_YET, .doc = "there is no safety-certified runtime"},
    {"useDLACore", CLI_NOT_YET, .doc = DLA},
    {"buildDLAStandalone", CLI_NOT_YET, .doc = DLA},
    {"allowGPUFallback", CLI_NOT_YET, .doc = DLA},
    {"minShapesCalib", CLI_NOT_YET, .doc = PROFILE},
    {"optShapesCalib", CLI_NOT_YET, .doc = PROFILE},
    {"maxShapesCalib", CLI_NOT_YET, .doc = PROFILE},
    {"calibProfile", CLI_NOT_YET, .doc = PROFILE},
    {"noBuilderCache", CLI_NOT_YET, .doc = "there is no cache but the file of --timing-cache"},
    {"disableCompilationCache", CLI_NOT_YET, .doc = "there is no cache but the file of --timing-cache"},
    {"tilingOptimizationLevel", CLI_NOT_YET, .doc = TILING},
    {"l2LimitForTiling", CLI_NOT_YET, .doc = TILING},
    {"heuristic", CLI_NOT_YET, .doc = "--level 1 times the likeliest tactic of each row"},
    {"minTiming", CLI_NOT_YET, .doc = "--timing-runs sets how often a tactic is timed"},
    {"remoteAutoTuningConfig", CLI_NOT_YET, .doc = "engines are tuned on the machine that builds them"},
    {"cpuOnly", CLI_NOT_YET, .doc = "--device cpu builds for the CPU, --level 0 without timing"},
    {"distributiveIndependence", CLI_NOT_YET, .doc = "hone verify repeats the measured errors"},
    {"multiDeviceInferenceEnabled", CLI_NOT_YET, .doc = "an engine runs on the devices that it was built for"},
    {"setPluginsToSerialize", CLI_NOT_YET, .doc = PLUGINS},
    {"ignoreParsedPluginLibs", CLI_NOT_YET, .doc = PLUGINS},
    {"useManagedMemory", CLI_NOT_YET, .doc = MEMORY},
    {"allocationStrategy", CLI_NOT_YET, .doc = MEMORY},
    {"exposeDMA", CLI_NOT_YET, .doc = "--includeDataTransfers measures the copies of each run"},
    {"asyncFileReader", CLI_NOT_YET, .doc = "engines are mapped, not read"},
    {"nvtxMode", CLI_NOT_YET, .doc = "--trace writes a timeline"},
    {"nvtxVerbosity", CLI_NOT_YET, .doc = "--trace writes a timeline"},
    {"workspace", CLI_NOT_YET, .doc = "--memPoolSize=workspace:SIZE"},
    {"maxBatch", CLI_NOT_YET, .doc = "--maxShapes"},
    {"uff", CLI_NOT_YET, .doc = "models are ONNX"},
    {"deploy", CLI_NOT_YET, .doc = "models are ONNX"},
    {0},
};
