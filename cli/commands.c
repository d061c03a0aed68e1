/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - the rows of commands: what each is for, which options it takes, examples. */
#include "calib.h"
#include "values.h"
#include "trace.h"

const cli_option cli_help_options[] = {
    {"command", CLI_TEXT, "COMMAND", .doc = "the command to explain"},
    {"man", CLI_FLAG, .doc = "a man page of section 1, of the command or of the tool"},
    {"markdown", CLI_FLAG, .doc = "the reference of all commands and options, as Markdown"},
    {0},
};

static const cli_command build = {
    .name = "build",
    .doc = "tune a model for this machine and write an engine",
    .usage = "build MODEL.onnx [-o ENGINE.hone] [options] | build --from ENGINE [-o NEW.hone] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_build_command_options, cli_recipe_options, cli_model_options, cli_build_options, cli_device_options,
               cli_precision_options, cli_trt_build_options, cli_input_options, cli_image_options,
               cli_load_inputs_options, cli_common_options, cli_trt_not_yet},
    .examples = "  hone build model.onnx -o model.hone\n"
                "  hone build model.onnx --minShapes=input:1x3x224x224 \\\n"
                "      --optShapes=input:8x3x224x224 --maxShapes=input:32x3x224x224\n"
                "  hone build model.onnx --profile 0 --shapes input:1x3x224x224 \\\n"
                "      --profile 1 --minShapes input:2x3x224x224 --optShapes input:8x3x224x224 \\\n"
                "      --maxShapes input:16x3x224x224\n"
                "  hone build --onnx=model.onnx --saveEngine=model.hone \\\n"
                "      --timingCacheFile=times.cache\n"
                "  hone build model.onnx --lock model.lock --threads 2\n"
                "  hone build model.onnx --bf16 --max-error 5e-3 --input x=x.npy\n"
                "  hone build model.onnx --int8 --calib photos --mean 0.485,0.456,0.406\n"
                "  hone build model.onnx --bf16 --layerPrecisions='/head/*:fp32'\n"
                "  hone build model.onnx --stripWeights -o small.hone\n"
                "  hone build model.onnx --embed-model -o model.hone\n"
                "  hone build --from model.hone -o here.hone\n",
    .run = cli_command_build,
};

static const cli_command run = {
    .name = "run",
    .doc = "run a model or an engine once",
    .usage = "run MODEL|ENGINE [[NAME=]FILE ...] [--output-dir DIR] [options]",
    .positional = "model",
    .positional_max = 1 + CLI_MAX_INPUTS,
    .positional_next = "input",
    .tables = {cli_run_options, cli_recipe_options, cli_input_options, cli_image_options, cli_model_options,
               cli_build_options, cli_device_options, cli_common_options, cli_load_inputs_options, cli_session_options,
               cli_compare_options, cli_schedule_options, cli_debug_options},
    .examples = "  hone run model.hone --input input=photo.npy --output-dir out\n"
                "  hone run mobilenet.hone --input photo.jpg --resize short:256 --crop 224x224 \\\n"
                "      --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --labels imagenet.txt\n"
                "  hone build yolov8n.onnx --recipe yolov8 --labels coco.txt\n"
                "  hone run yolov8n.hone photo.jpg --draw boxes.png\n"
                "  hone run model.onnx --shapes input:4x3x224x224 --seed 7\n"
                "  hone run model.hone --input x=x.npy --compare y=wanted.npy --atol 1e-4\n"
                "  hone run model.hone --input x=x.npy --loadRefOutputs=y:y.bin \\\n"
                "      --accuracyAlgorithm=cos --accuracyThreshold=1e-4\n"
                "  hone run model.hone --debug-tensor conv_12 --debug-tensor features=f.npy\n"
                "  hone run model.onnx --debug-tensor all --debug-dir values --check-nan\n",
    .run = cli_command_run,
};

static const cli_command bench = {
    .name = "bench",
    .doc = "measure throughput and latency, with trtexec's options and closing block",
    .usage = "bench MODEL|ENGINE [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_bench_options, cli_sweep_options, cli_trace_options, cli_input_options, cli_image_options,
               cli_model_options, cli_build_options, cli_device_options, cli_precision_options, cli_trt_build_options,
               cli_trt_bench_options, cli_load_inputs_options, cli_common_options, cli_compare_options, cli_trt_not_yet,
               cli_session_options, cli_schedule_options, cli_debug_options},
    .examples = "  hone bench model.hone\n"
                "  hone bench --loadEngine=model.hone --iterations=100 --warmUp=500 \\\n"
                "      --duration=5 --percentile=50,99\n"
                "  hone bench --onnx=model.onnx --saveEngine=model.hone --dumpProfile\n"
                "  hone bench model.hone --shapes input:8x3x224x224 --useProfile 1\n"
                "  hone bench model.hone --streams 4 --threads 1 --cpus 0-3\n"
                "  hone bench model.hone --rate 200 --percentile=50,99\n"
                "  hone bench model.onnx --sweep --batches 1,4,8 --max-latency 20 --svg s.svg\n"
                "  hone bench --onnx=model.onnx --tacticSources=-AVX512 --maxTactics=4 \\\n"
                "      --inputIOFormats=fp32:chw\n"
                "  hone bench --loadEngine=model.hone --markDebug=conv_12 \\\n"
                "      --saveDebugTensors=features:features.npy\n",
    .run = cli_command_bench,
};

static const cli_command profile = {
    .name = "profile",
    .group = CLI_GROUP_TIME,
    .doc = "show where the time of a run goes, layer by layer",
    .usage = "profile MODEL|ENGINE [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_profile_options, cli_html_options, cli_trace_options, cli_input_options, cli_image_options,
               cli_model_options, cli_build_options, cli_device_options, cli_common_options, cli_load_inputs_options,
               cli_session_options, cli_schedule_options},
    .examples = "  hone profile model.hone\n"
                "  hone profile model.hone --threads 1 --runs 100 --json > profile.json\n"
                "  hone profile model.hone --by module\n"
                "  hone profile model.hone --cold --csv > layers.csv\n"
                "  hone profile model.hone --html report.html\n"
                "  hone profile model.hone --trace trace.json\n",
    .run = cli_command_profile,
};

static const cli_command advise = {
    .name = "advise",
    .group = CLI_GROUP_TIME,
    .doc = "say what would make a model faster, by how much, and do it",
    .usage = "advise MODEL|ENGINE [--apply [-o BEST.hone]] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_advise_options, cli_input_options, cli_image_options, cli_model_options, cli_build_options,
               cli_precision_options, cli_device_options, cli_common_options, cli_load_inputs_options,
               cli_session_options, cli_schedule_options},
    .examples = "  hone advise model.hone\n"
                "  hone advise model.onnx --threads 1 --apply -o best.hone\n"
                "  hone advise model.onnx --apply --max-error 1e-3 --json > advice.json\n"
                "  hone advise model.onnx --apply --throughput --calib photos --threads 1\n",
    .run = cli_command_advise,
};

static const cli_command show = {
    .name = "show",
    .group = CLI_GROUP_LOOK,
    .doc = "show what a model or an engine holds",
    .usage = "show MODEL|ENGINE [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_show_options, cli_model_options, cli_device_options, cli_common_options, cli_schedule_options},
    .examples = "  hone show model.onnx\n"
                "  hone show model.onnx --graph > model.txt\n"
                "  hone show model.hone\n"
                "  hone show model.hone --memory\n",
    .run = cli_command_show,
};

static const cli_command passes = {
    .name = "passes",
    .group = CLI_GROUP_LOOK,
    .doc = "show a model's graph after the passes, or after one of them",
    .usage = "passes MODEL.onnx [--after PASS] [--disable NAME] [--stats] [--emit FILE] | passes --list",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_passes_options, cli_model_options, cli_device_options, cli_common_options},
    .examples = "  hone passes --list\n"
                "  hone passes model.onnx --after fold_constants\n"
                "  hone passes model.onnx --stats\n"
                "  hone passes model.onnx --disable fuse_conv --emit optimised.onnx\n",
    .run = cli_command_passes,
};

static const cli_command explain = {
    .name = "explain",
    .group = CLI_GROUP_TIME,
    .doc = "show why each layer runs as it does: tactics tried, fusions not taken",
    .usage = "explain MODEL|ENGINE [--node NODE | --all] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_explain_options, cli_model_options, cli_input_options, cli_image_options, cli_build_options,
               cli_device_options, cli_common_options, cli_load_inputs_options, cli_schedule_options},
    .examples = "  hone explain model.hone\n"
                "  hone explain model.hone --node conv_12\n"
                "  hone explain model.onnx --node conv_12 --threads 1\n",
    .run = cli_command_explain,
};

static const cli_command check = {
    .name = "check",
    .group = CLI_GROUP_LOOK,
    .doc = "list a model's operators and what of them is supported",
    .usage = "check MODEL.onnx [--shapes NAME:DIMS] | check --operators",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_check_options, cli_model_options, cli_common_options},
    .examples = "  hone check model.onnx\n"
                "  hone check model.onnx --shapes input:1x3x640x640 --json\n"
                "  hone check --operators\n",
    .run = cli_command_check,
};

static const cli_command cache = {
    .name = "cache",
    .group = CLI_GROUP_TOOL,
    .doc = "merge timing caches",
    .usage = "cache merge FILE... -o FILE",
    .positional = "file",
    .positional_max = 65,
    .tables = {cli_cache_options, cli_common_options},
    .examples = "  hone cache merge morning.cache evening.cache -o all.cache\n",
    .run = cli_command_cache,
};

static const cli_command verify = {
    .name = "verify",
    .doc = "run every step of an engine, and a model's whole graph, against the reference and compare",
    .usage = "verify ENGINE|MODEL [--full] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_verify_options, cli_model_options, cli_input_options, cli_image_options, cli_build_options,
               cli_device_options, cli_common_options, cli_load_inputs_options, cli_session_options,
               cli_schedule_options},
    .examples = "  hone verify model.hone\n"
                "  hone verify model.hone --full\n"
                "  hone verify model.onnx --input x=x.npy --max-error 1e-5\n",
    .run = cli_command_verify,
};

static const cli_command quantize = {
    .name = "quantize",
    .group = CLI_GROUP_SMALLER,
    .doc = "turn a model in f32 into one in 8 bits, by what it computes on samples; or its weights alone",
    .usage = "quantize MODEL.onnx --calib FOLDER|FILE | --weights TYPE[:BLOCK] [-o FILE.onnx] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_quantize_options, cli_calib_options, cli_image_options, cli_model_options, cli_device_options,
               cli_common_options},
    .examples = "  hone quantize model.onnx --calib samples.npy -o model_int8.onnx\n"
                "  hone quantize mobilenet.onnx --calib photos --mean 0.485,0.456,0.406 \\\n"
                "      --std 0.229,0.224,0.225 --table\n"
                "  hone quantize model.onnx --calib photos --activations s8 --keep 'head/*'\n"
                "  hone quantize bert.onnx --calib sentences.npz --fp8\n"
                "  hone quantize model.onnx --ranges model.calib --calib photos\n"
                "  hone quantize model.onnx --weights uint4:32 -o model_uint4.onnx\n",
    .run = cli_command_quantize,
};

static const cli_command sensitivity = {
    .name = "sensitivity",
    .group = CLI_GROUP_SMALLER,
    .doc = "show what 8 bits in each layer do to a model's outputs, and save",
    .usage = "sensitivity MODEL.onnx --calib FOLDER|FILE [--csv] [--svg FILE] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_sensitivity_options, cli_calib_options, cli_image_options, cli_model_options, cli_device_options,
               cli_common_options},
    .examples = "  hone sensitivity model.onnx --calib samples.npy\n"
                "  hone sensitivity model.onnx --calib photos --calib-count 16 --csv > layers.csv\n"
                "  hone sensitivity model.onnx --calib photos --svg layers.svg\n",
    .run = cli_command_sensitivity,
};

static const cli_command plan = {
    .name = "plan",
    .group = CLI_GROUP_SMALLER,
    .doc = "choose each layer's type, f32, bf16, f16 or 8 bits, by measured time and error, and write the engine",
    .usage = "plan MODEL.onnx --calib FOLDER|FILE [--max-drop P% | --max-error E | --target-ms T] [-o ENGINE.hone]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_plan_options, cli_calib_options, cli_image_options, cli_model_options, cli_device_options,
               cli_common_options},
    .examples = "  hone plan model.onnx --calib samples.npy\n"
                "  hone plan mobilenet.onnx --calib photos --mean 0.485,0.456,0.406 \\\n"
                "      --std 0.229,0.224,0.225 --max-error 0.05 -o mobilenet.hone\n"
                "  hone plan model.onnx --calib photos --eval others --labels classes.tsv \\\n"
                "      --max-drop 0.5%\n"
                "  hone plan model.onnx --calib photos --target-ms 4 --csv > points.csv\n",
    .run = cli_command_plan,
    .keeps_best = true,
};

static const cli_command prune = {
    .name = "prune",
    .group = CLI_GROUP_SMALLER,
    .doc = "remove channels from a model, through everything that shares them, or two of four weights",
    .usage = "prune MODEL.onnx --ratio SHARE | --target-ms MS | --sparsity 2:4 [-o PRUNED.onnx] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_prune_options, cli_calib_options, cli_image_options, cli_model_options, cli_shrink_build_options,
               cli_device_options, cli_common_options},
    .examples = "  hone prune model.onnx --ratio 0.3 -o pruned.onnx --table\n"
                "  hone prune model.onnx --ratio 0.3 --masked masked.onnx --mask channels.json\n"
                "  hone prune model.onnx --ratio 0.3 --score error --calib photos --global\n"
                "  hone prune model.onnx --target-ms 2.5 --threads 1 --keep 'head/*'\n"
                "  hone prune model.onnx --sparsity 2:4 -o sparse.onnx --table\n",
    .run = cli_command_prune,
};

static const cli_command shrink = {
    .name = "shrink",
    .group = CLI_GROUP_SMALLER,
    .doc = "measure each layer at fewer channels: where the steps are, and the best next widths",
    .usage = "shrink MODEL.onnx [--layers NODE] [--csv | --json] [--svg FILE] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_shrink_options, cli_model_options, cli_shrink_build_options, cli_device_options, cli_common_options},
    .examples = "  hone shrink model.onnx --threads 1\n"
                "  hone shrink model.onnx --layers 'features.1*' --widths 16 --csv > stairs.csv\n"
                "  hone shrink model.onnx --bf16 --timing-cache times.cache --svg stairs.svg\n",
    .run = cli_command_shrink,
};

static const cli_command refit = {
    .name = "refit",
    .doc = "give an engine the weights of another model of the same structure, without tuning",
    .usage = "refit ENGINE --model MODEL.onnx [-o NEW.hone] [options]",
    .positional = "engine",
    .positional_max = 1,
    .tables = {cli_refit_options, cli_model_options, cli_device_options, cli_common_options},
    .examples = "  hone build model.onnx --refit -o model.hone\n"
                "  hone refit model.hone --model trained_further.onnx -o new.hone\n"
                "  hone refit small.hone --onnx model.onnx\n",
    .run = cli_command_refit,
};

static const cli_command diff = {
    .name = "diff",
    .doc = "run two engines in turns and show which layers differ, in what and by how much",
    .usage = "diff A B [--max-regression PERCENT] [options]",
    .positional = "engine",
    .positional_max = 2,
    .tables = {cli_diff_options, cli_input_options, cli_image_options, cli_model_options, cli_build_options,
               cli_device_options, cli_common_options, cli_load_inputs_options, cli_session_options,
               cli_schedule_options},
    .examples = "  hone diff before.hone after.hone\n"
                "  hone diff before.hone after.hone --max-regression 2 --json > diff.json\n",
    .run = cli_command_diff,
};

static const cli_command compare = {
    .name = "compare",
    .doc = "compare two engines, models, ONNX Runtime or saved tensors, layer by layer",
    .usage = "compare A [B] [--tolerance X] [--json] [options]",
    .positional = "sides",
    .positional_max = 2,
    .tables = {cli_compare_command_options, cli_python_options, cli_input_options, cli_image_options, cli_model_options,
               cli_build_options, cli_device_options, cli_common_options, cli_load_inputs_options, cli_session_options,
               cli_schedule_options, cli_precision_options},
    .examples = "  hone compare model.onnx\n"
                "  hone compare model.hone model.onnx --tolerance 1e-3 --histogram\n"
                "  hone compare model.onnx ort --input x.npy --json > layers.json\n"
                "  hone compare model.onnx saved/ --fp16 --tolerance 0.02\n"
                "  hone compare model.onnx --save right/\n",
    .run = cli_command_compare,
};

static const cli_command bisect = {
    .name = "bisect",
    .doc = "find why outputs are wrong: the layers that must stay in f32, or the tactic, fusion or pass",
    .usage = "bisect MODEL [--tolerance X] [build options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_bisect_options, cli_input_options, cli_image_options, cli_model_options, cli_build_options,
               cli_precision_options, cli_device_options, cli_common_options, cli_load_inputs_options},
    .examples = "  hone bisect model.onnx\n"
                "  hone bisect model.onnx --fp16 --tolerance 0.01 --input x.npy\n"
                "  hone bisect model.onnx --int8 --calib photos --tolerance 0.1 --json\n",
    .run = cli_command_bisect,
};

static const cli_command reduce = {
    .name = "reduce",
    .doc = "shrink a failing model to the smallest that still fails",
    .usage = "reduce MODEL.onnx [-o FILE.onnx] [--check COMMAND] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_reduce_options, cli_input_options, cli_model_options, cli_build_options, cli_precision_options,
               cli_device_options, cli_common_options, cli_load_inputs_options},
    .examples = "  hone reduce model.onnx -o small.onnx\n"
                "  hone reduce model.onnx --fp16 --tolerance 0.02\n"
                "  hone reduce model.onnx --check 'python3 fails.py {}'\n",
    .run = cli_command_reduce,
    .keeps_best = true,
};

static const cli_command surgeon = {
    .name = "surgeon",
    .doc = "cut and change an ONNX model: extract, insert, remove, fold, rename, replace, split",
    .usage = "surgeon MODEL.onnx [EDITS] [-o FILE.onnx]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_surgeon_options, cli_model_options, cli_common_options},
    .examples = "  hone surgeon model.onnx --extract 'features -> logits' -o head.onnx\n"
                "  hone surgeon model.onnx --remove dropout_1 --type 'x f32[1,3,224,224]' --fold\n"
                "  hone surgeon model.onnx --replace 'Mul(x, Sigmoid(x)) -> com.acme::Swish(x)'\n"
                "  hone surgeon model.onnx --insert 'Relu(a) -> b for a' -o more.onnx\n"
                "  hone surgeon model.onnx --split features -o parts.onnx\n"
                "  hone surgeon model.onnx --script edits.txt -o edited.onnx\n",
    .run = cli_command_surgeon,
};

static const cli_command generate = {
    .name = "generate",
    .doc = "continue a prompt's token ids with a language model",
    .usage = "generate MODEL|ENGINE --prompt-ids N,N,... [--tokens N] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_generate_options, cli_model_options, cli_build_options, cli_device_options, cli_precision_options,
               cli_common_options, cli_session_options},
    .examples = "  hone generate decoder.onnx --prompt-ids 1,15,27 --tokens 64\n"
                "  hone generate decoder.hone --prompt-ids 1,15,27 --temperature 0.8 --seed 7\n"
                "  hone generate decoder.onnx --prompt-ids 1,15,27 --eos 2 --threads 2 --json\n",
    .run = cli_command_generate,
};

static const cli_command zoo = {
    .name = "zoo",
    .doc = "write a standard network with seeded weights as ONNX",
    .usage = "zoo [NAME [-o FILE]] [options]",
    .positional = "name",
    .positional_max = 1,
    .tables = {cli_zoo_options, cli_common_options},
    .examples = "  hone zoo\n"
                "  hone zoo resnet50 -o resnet50.onnx\n"
                "  hone zoo mobilenet_v2 --dynamic -o mobilenet_v2_dynamic.onnx\n"
                "  hone zoo decoder --layers 24 --width 1024 --heads 16 -o decoder.onnx\n",
    .run = cli_command_zoo,
};

static const cli_command doctor = {
    .name = "doctor",
    .group = CLI_GROUP_TOOL,
    .doc = "show what this machine and this build can do",
    .usage = "doctor [options]",
    .tables = {cli_device_options, cli_common_options},
    .examples = "  hone doctor\n"
                "  hone doctor --threads 1 --json\n",
    .run = cli_command_doctor,
};

static const cli_command peaks = {
    .name = "peaks",
    .group = CLI_GROUP_TIME,
    .doc = "show what this machine reaches at most, or what a chip does on paper",
    .usage = "peaks [--chip NAME ...] [--list] [options]",
    .tables = {cli_peaks_options, cli_device_options, cli_common_options},
    .examples = "  hone peaks\n"
                "  hone peaks --threads 1 --measure\n"
                "  hone peaks --list\n"
                "  hone peaks --chip A100 --chip 'RTX 4090'\n"
                "  hone peaks --chips mine.txt --chip mine\n",
    .run = cli_command_peaks,
};

static const cli_command roofline = {
    .name = "roofline",
    .group = CLI_GROUP_TIME,
    .doc = "show each layer under the roofs of this machine, or of a chip on paper",
    .usage = "roofline MODEL|ENGINE [--svg FILE] [--chip NAME ...] [--what-if] [options]",
    .positional = "model",
    .positional_max = 1,
    .tables = {cli_roofline_options, cli_input_options, cli_image_options, cli_model_options, cli_build_options,
               cli_device_options, cli_common_options, cli_load_inputs_options, cli_session_options,
               cli_schedule_options},
    .examples = "  hone roofline model.hone\n"
                "  hone roofline model.hone --svg roofline.svg\n"
                "  hone roofline model.hone --chip A100 --chip T4 --type f16\n"
                "  hone roofline --what-if --chip H100\n",
    .run = cli_command_roofline,
};

static const cli_command serve = {
    .name = "serve",
    .doc = "write a model repository for Triton Inference Server",
    .usage = "serve --triton-repository DIR ENGINE|MODEL.onnx ... [options]",
    .positional = "model",
    .positional_max = CLI_MAX_GIVEN,
    .tables = {cli_serve_options, cli_common_options},
    .examples = "  hone serve --triton-repository models mobilenet.hone\n"
                "  hone serve --triton-repository models a.hone b.onnx --instances 4 \\\n"
                "      --max-delay 2000\n",
    .run = cli_command_serve,
};

static const cli_command help = {
    .name = "help",
    .group = CLI_GROUP_TOOL,
    .doc = "explain the tool or one command",
    .usage = "help [COMMAND] [--help-all | --man | --markdown]",
    .positional = "command",
    .positional_max = 1,
    .tables = {cli_help_options, cli_common_options},
    .examples = "  hone help\n"
                "  hone help build --help-all\n"
                "  hone help build --man | man -l -\n",
    .run = cli_command_help,
};

static const cli_command completion = {
    .name = "completion",
    .group = CLI_GROUP_TOOL,
    .doc = "print what a shell completes the tool's words by",
    .usage = "completion bash|zsh|fish",
    .positional = "shell",
    .positional_max = 1,
    .tables = {cli_completion_options, cli_common_options},
    .examples = "  hone completion bash > ~/.local/share/bash-completion/completions/hone\n"
                "  hone completion zsh > ~/.zfunc/_hone\n"
                "  hone completion fish > ~/.config/fish/completions/hone.fish\n",
    .run = cli_command_completion,
};

static const cli_command version = {
    .name = "version",
    .group = CLI_GROUP_TOOL,
    .doc = "print the version",
    .usage = "version",
    .tables = {cli_common_options},
    .examples = "  hone version\n",
    .run = cli_command_version,
};

const cli_command *const cli_commands[] = {
    &build,    &run,         &generate, &bench, &profile,  &advise, &show, &passes,     &explain, &check,  &verify,
    &quantize, &sensitivity, &plan,     &prune, &shrink,   &refit,  &diff, &compare,    &bisect,  &reduce, &surgeon,
    &cache,    &zoo,         &doctor,   &peaks, &roofline, &serve,  &help, &completion, &version, NULL};
