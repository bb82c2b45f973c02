"""The network of BERT, for onnxruntime.

Packages have weights of 4 or 8 bits, and graphs that make float32 of them and then multiply,
or round a whole batch with one scale. Those graphs are left alone here. The weights are taken
out and put into another of the same layers that multiplies them as they are, having rounded
what they are multiplied by to int8 too, a block of a token's numbers at a time; so no text has
a part in the rounding of another. The rest of a layer is the few operations that onnxruntime
has for just that."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from onnxfile import EXTRAS, Graph, port

HEADS, HIDDEN = 12, 384
EPSILON = 1e-12
# Numbers that are rounded together, at most. Of 128 onnxruntime sums one text in another order
# than several.
BLOCK = 64
INT8 = 4  # MatMulNBits' accuracy_level for multiplying int8


class Dense(NamedTuple):
    """Weights that are multiplied, by blocks of numbers in: uint8 [out, blocks, BLOCK], of
    which 128 is taken away, or half of that with two numbers a byte, of which 8 is taken away."""

    rows: np.ndarray
    scales: np.ndarray  # float32 [out, blocks]
    bias: np.ndarray
    bits: int = 8


class Norm(NamedTuple):
    gamma: np.ndarray
    beta: np.ndarray


class Layer(NamedTuple):
    query: Dense
    key: Dense
    value: Dense
    mixed: Dense
    mixed_norm: Norm
    wide: Dense
    narrow: Dense
    norm: Norm


class Weights(NamedTuple):
    words: Callable[[Graph], str]  # writes what makes rows of the table of words of input_ids
    positions: np.ndarray  # with what is added to each word of the first kind
    norm: Norm
    layers: list[Layer]


def signed(rows, scales, bias):
    """Weights of int8 [in, out] that have a scale for each number out."""
    out, into = rows.T.shape
    blocks = into // BLOCK
    rows = (rows.T.astype(np.int16) + 128).astype(np.uint8).reshape(out, blocks, BLOCK)
    return Dense(rows, np.repeat(scales.reshape(out, 1), blocks, axis=1), bias)


def network(weights):
    """A model's file: input_ids [texts, tokens], positions [tokens] and lengths [texts] to
    hidden [texts, tokens, HIDDEN]."""
    g = Graph()
    words, positions = weights.words(g), g.op("Gather", g.constant(weights.positions), "positions")
    gamma, beta = map(g.constant, weights.norm)
    x = g.op("LayerNormalization", g.op("Add", words, positions), gamma, beta, axis=2, epsilon=EPSILON)
    for layer in weights.layers:
        heads = [times(g, x, dense, dense.bias) for dense in (layer.query, layer.key, layer.value)]
        mixed = g.op("MultiHeadAttention", *heads, "", "lengths", domain=EXTRAS, num_heads=HEADS)
        x = normed(g, times(g, mixed, layer.mixed), x, layer.mixed.bias, layer.mixed_norm)
        wide = g.op("BiasGelu", times(g, x, layer.wide), g.constant(layer.wide.bias), domain=EXTRAS)
        x = normed(g, times(g, wide, layer.narrow), x, layer.narrow.bias, layer.norm)
    g.op("Identity", x, result="hidden")
    return g.model(
        [
            port("input_ids", np.int64, "texts", "tokens"),
            port("positions", np.int64, "tokens"),
            port("lengths", np.int32, "texts"),
        ],
        [port("hidden", np.float32, "texts", "tokens", HIDDEN)],
    )


def times(g, x, dense, bias=None):
    out, blocks, size = dense.rows.shape
    block = size * 8 // dense.bits
    more = [] if bias is None else ["", "", g.constant(bias)]
    return g.op(
        "MatMulNBits",
        x,
        g.constant(dense.rows),
        g.constant(dense.scales.reshape(-1)),
        *more,
        domain=EXTRAS,
        K=blocks * block,
        N=out,
        bits=dense.bits,
        block_size=block,
        accuracy_level=INT8,
    )


def normed(g, x, skip, bias, norm):
    """x with its bias and what went round it, normalised."""
    gamma, beta = map(g.constant, norm)
    return g.op("SkipLayerNormalization", x, skip, gamma, beta, g.constant(bias), domain=EXTRAS, epsilon=EPSILON)
