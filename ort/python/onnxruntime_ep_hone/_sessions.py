# SPDX-License-Identifier: Apache-2.0
"""Sessions that come back without reading their models: the compiled model that the first one leaves is opened in its place."""
import hashlib
import json
import mmap
import os
import platform
import uuid

_FORMAT = 1  # of the notes


def _stat(path):
    facts = os.stat(path)
    return [path, facts.st_size, facts.st_mtime_ns, facts.st_ino]


def _is_same(file):
    try:
        return _stat(file[0]) == file
    except OSError:
        return False


def _external_files(model):
    """Files beside a model that hold its tensors. They are found by the key "location" of ONNX's external data, as bytes: what
    only looks like one names no file."""
    key = b"\x0a\x08location\x12"
    folder, found = os.path.dirname(model), set()
    with open(model, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return []
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(key)
            while at >= 0:
                length = data[at + len(key)] if at + len(key) < len(data) else 0
                name = data[at + len(key) + 1:at + len(key) + 1 + length]
                path = os.path.join(folder, name.decode("utf-8", "replace"))
                if 0 < length < 128 and "\0" not in path and os.path.isfile(path):
                    found.add(path)
                at = data.find(key, at + len(key))
    return sorted(found)


class _Notes:
    """KEY.session in the cache's folder: which compiled model stands for a model, and what its files were then."""

    def __init__(self, cache_dir, model, text):
        import onnxruntime

        self.model = os.path.realpath(model)
        key = repr((_FORMAT, self.model, sorted(text.items()), onnxruntime.__version__, platform.machine()))
        self.folder = os.path.abspath(cache_dir)
        self.name = hashlib.sha256(key.encode()).hexdigest()[:32]
        self.path = os.path.join(self.folder, f"{self.name}.session")

    def compiled(self):
        """The compiled model's path; None: there is none, or a file of the model changed."""
        try:
            with open(self.path, encoding="utf-8") as file:
                notes = json.load(file)
            path = os.path.join(self.folder, os.path.basename(notes["compiled"]))
            return path if os.path.exists(path) and all(_is_same(file) for file in notes["files"]) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def new_path(self):
        return os.path.join(self.folder, f"{self.name}.{uuid.uuid4().hex[:8]}.onnx")

    def files(self):
        return [_stat(path) for path in [self.model, *_external_files(self.model)]]

    def write(self, compiled, files):
        made = f"{compiled}.tmp"
        with open(made, "w", encoding="utf-8") as file:
            json.dump({"compiled": os.path.basename(compiled), "files": files}, file)
        os.replace(made, self.path)


def open_session(model, session_options, cache_dir, text):
    """The session of a model's file; session_options have the provider already."""
    import onnxruntime

    def create(path, compiled=""):
        session_options.add_session_config_entry("ep.context_enable", "1" if compiled else "0")
        session_options.add_session_config_entry("ep.context_file_path", compiled)
        session_options.add_session_config_entry("ep.context_embed_mode", "0")
        session = onnxruntime.InferenceSession(path, session_options, enable_fallback=0)
        session.disable_fallback()
        return session

    notes = _Notes(cache_dir, model, text)
    found = notes.compiled()
    if found:
        try:
            return create(found)
        except Exception:  # damaged, or of another CPU or version: the runtime's exceptions have no common base
            pass
    files, compiled = notes.files(), notes.new_path()
    try:
        session = create(model, compiled)
    except Exception:  # free dims without profiles cannot be compiled ahead; what else is wrong is said again
        return create(model)
    if os.path.exists(compiled):
        notes.write(compiled, files)
    return session
