# SPDX-License-Identifier: Apache-2.0
"""The flags in trtexec's help: what the READMEs count, and what the tool has to know."""

# Of TensorRT 10, without the spellings that it kept from before.
TENSORRT_10 = """
allocationStrategy allowGPUFallback allowWeightStreaming asyncFileReader avgRuns avgTiming best bf16 buildDLAStandalone
builderOptimizationLevel calib consistency decomposableAttentions device directIO disableCompilationCache dumpLayerInfo
dumpOptimizationProfile dumpOutput dumpProfile dumpRawBindingsToFile dumpRefit duration dynamicPlugins
errorOnTimingCacheMiss excludeLeanRuntime exportLayerInfo exportOutput exportProfile exportTimes exposeDMA fp16 fp8
getPlanVersionOnly hardwareCompatibilityLevel help idleTime ignoreParsedPluginLibs includeDataTransfers infStreams
inputIOFormats int4 int8 iterations l2LimitForTiling layerDeviceTypes layerOutputTypes layerPrecisions leanDLLPath
loadEngine loadInputs markDebug markUnfusedTensorsAsDebugTensors maxAuxStreams maxShapes maxTactics memPoolSize minShapes
monitorMemory noBuilderCache noDataTransfers noTF32 onnx optShapes outputIOFormats percentile persistentCacheRatio
pluginInstanceNorm precisionConstraints preview profile profilingVerbosity refit restricted runtimePlatform safe
saveAllDebugTensors saveDebugTensors saveEngine separateProfileRun setPluginsToSerialize shapes skipInference sleepTime
sparsity staticPlugins stripAllWeights stripWeights stronglyTyped tacticSources tempdir tempfileControls threads
tilingOptimizationLevel timeDeserialize timeRefit timingCacheFile useCudaGraph useDLACore useManagedMemory useProfile
useRuntime useSpinWait verbose versionCompatible warmUp weightStreamingBudget weightless
""".split()
# Those spellings, and what TensorRT 11 has besides.
OTHERS = """
minShapesCalib optShapesCalib maxShapesCalib vc pi uint8AsymmetricQuantizationDLA calibProfile remoteAutoTuningConfig
cpuOnly distributiveIndependence plugins noSpinWait noCudaGraph streams refitFromOnnx
""".split()
