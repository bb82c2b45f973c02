"""A model: texts into token ids, token ids into vectors."""

import importlib

import numpy as np
import onnxruntime
from network import network

# Each module has the facts of a model, and loads its tokeniser and its weights.
MODULES = {"all-MiniLM-L6-v2": "minilm", "multilingual-e5-small": "e5"}
DEFAULT = "all-MiniLM-L6-v2"

TOKENISED_AT_ONCE = 1 << 16  # characters, so that their intermediate forms stay small


class Model:
    """The model. Its methods may be called by several threads at a time, each of which
    computes on one core."""

    def __init__(self, name=DEFAULT):
        module = importlib.import_module(MODULES[name])
        self.name, self.owner, self.dimensions = name, module.OWNER, module.DIMENSIONS
        self.tokeniser, weights = module.load()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(network(weights), options, providers=["CPUExecutionProvider"])
        self.vectors([self.token_ids(["warm-up"])[0]])  # the first run allocates

    def token_ids(self, texts):
        """The token ids of each text, as arrays."""
        ids, piece, size = [], [], 0
        for i, text in enumerate(texts):
            piece.append(text)
            size += len(text)
            if size >= TOKENISED_AT_ONCE or i == len(texts) - 1:
                ids.extend(np.array(one, np.int64) for one in self.tokeniser.ids(piece))
                piece, size = [], 0
        return ids

    def vectors(self, ids):
        """The vectors of texts, float32 and of length 1: the mean over each text's
        tokens. They do not depend on which texts are computed together."""
        lengths = np.array([len(one) for one in ids], np.int32)
        tokens = np.zeros((len(ids), lengths.max()), np.int64)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
        given = {"input_ids": tokens, "positions": np.arange(tokens.shape[1]), "lengths": lengths}
        hidden = self.session.run(["hidden"], given)[0]
        means = np.stack([hidden[row, : len(one)].mean(axis=0) for row, one in enumerate(ids)])
        return (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
