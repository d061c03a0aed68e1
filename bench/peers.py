# SPDX-License-Identifier: Apache-2.0
"""peers.py - the same ONNX file in ONNX Runtime and in OpenVINO, with bound inputs so that nothing is copied."""


class OnnxRuntime:
    name = package = "onnxruntime"

    def __init__(self, path, threads):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.version = ort.__version__
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()

    def bind(self, inputs):
        self.inputs = inputs
        for name, value in inputs.items():
            self.binding.bind_cpu_input(name, value)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.binding.copy_outputs_to_cpu()))


class OpenVino:
    """Latency hint, f32 throughout; free dims are 1, as compare.py's inputs have them."""

    name = package = "openvino"
    precision = {"INFERENCE_PRECISION_HINT": "f32"}

    def __init__(self, path, threads):
        import openvino

        self.version = openvino.__version__.split("-")[0]
        options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", **self.precision}
        core = openvino.Core()
        model = core.read_model(path)
        if any(port.partial_shape.is_dynamic for port in model.inputs):
            # a free dim's tensors are empty until a run gives them an extent, and copying into them says nothing
            model.reshape({port: [1 if dim.is_dynamic else dim.get_length() for dim in port.partial_shape]
                           for port in model.inputs})
        self.request = core.compile_model(model, "CPU", options).create_infer_request()

    def bind(self, inputs):
        for name, value in inputs.items():
            tensor = self.request.get_tensor(name).data
            if tensor.shape != value.shape:
                raise ValueError(f"{name} is {tensor.shape}, but {value.shape} was given")
            tensor[...] = value

    def run(self):
        self.request.infer()

    def outputs(self):
        model = self.request.get_compiled_model()
        return {port.get_any_name(): self.request.get_tensor(port).data for port in model.outputs}


class OpenVinoDefault(OpenVino):
    """What a user gets who asks for nothing: bf16 where the CPU has AMX."""

    name = "openvino_default"
    precision = {}


PEERS = {peer.name: peer for peer in (OnnxRuntime, OpenVino, OpenVinoDefault)}
