# SPDX-License-Identifier: Apache-2.0
"""hone as an execution provider of ONNX Runtime (1.23 and later).

    import onnxruntime, onnxruntime_ep_hone
    onnxruntime_ep_hone.register()
    options = onnxruntime.SessionOptions()
    onnxruntime_ep_hone.add_to(options, cache_dir="engines")
    session = onnxruntime.InferenceSession("model.onnx", options)

or, which also spares the next process the reading of the model:

    session = onnxruntime_ep_hone.session("model.onnx", cache_dir="engines")

Options and compiled models: docs/ONNXRUNTIME.md of hone. onnxruntime is imported when it is needed, whichever package
brought it."""
import os

__version__ = "0.1.0"
__all__ = ["add_to", "get_devices", "get_ep_name", "get_library_path", "register", "session", "unregister"]

_NAME = "hone"


def get_library_path():
    """Where the provider's shared object is."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "libhone_ort.so")


def get_ep_name():
    """What ONNX Runtime calls the provider."""
    return "HoneExecutionProvider"


def get_ep_names():
    """The same for code that expects a list."""
    return [get_ep_name()]


def get_devices():
    """The devices that a registered provider offers: the CPU."""
    import onnxruntime

    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == get_ep_name()]


def register():
    """Makes the provider known to ONNX Runtime, once; does nothing when it is."""
    import onnxruntime

    if not get_devices():
        onnxruntime.register_execution_provider_library(_NAME, get_library_path())


def unregister():
    """Forgets it; all sessions that use it must be gone."""
    import onnxruntime

    if get_devices():
        onnxruntime.unregister_execution_provider_library(_NAME)


def add_to(session_options, **options):
    """Lets a session use the provider, which is registered if it is not; options as docs/ONNXRUNTIME.md lists them."""
    register()
    session_options.add_provider_for_devices(get_devices(), _text(options))


def session(model, session_options=None, *, cache_dir, **options):
    """An onnxruntime.InferenceSession of a model's file on the provider. The first one leaves a compiled model in cache_dir,
    with its engines beside it; later ones, also of other processes, open that and do not read the model, as long as the
    model's files have their sizes, times and places. What is damaged or of another machine is built again. With free dims
    it takes profiles; without them the engines alone are kept. session_options are changed."""
    import onnxruntime

    from ._sessions import open_session

    session_options = session_options or onnxruntime.SessionOptions()
    options = {"cache_dir": cache_dir, **options}
    add_to(session_options, **options)
    return open_session(model, session_options, cache_dir, _text(options))


def _text(options):
    return {name: "1" if value is True else "0" if value is False else str(value) for name, value in options.items()}
