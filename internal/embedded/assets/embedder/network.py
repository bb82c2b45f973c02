"""The network of all-MiniLM-L6-v2 (BERT with six layers), for onnxruntime.

The package's file has weights of int8, and a graph that makes float32 of them and then
multiplies: most of the time of a vector. Its graph is left alone here. The weights are
taken out and put into another of the same layers that multiplies them as they are, having
rounded what they are multiplied by to int8 too, 64 numbers of a token at a time; so no
text has a part in the rounding of another. The rest of a layer is the few operations that
onnxruntime has for just that."""

import numpy as np

from onnxfile import EXTRAS, Graph, port

LAYERS, HEADS, HIDDEN = 6, 12, 384
EPSILON = 1e-12
# Numbers that are rounded together. Of 128 onnxruntime sums one text in another order
# than several.
BLOCK = 64
INT8 = 4  # MatMulNBits' accuracy_level for multiplying int8


def network(weights):
    """A model's file, of the weights by their names: input_ids [texts, tokens], positions
    [tokens] and lengths [texts] to hidden [texts, tokens, HIDDEN]."""
    g = Graph()
    # The file has the weights of each layer in the order in which they are used.
    dense = iter([name.removesuffix("_q") for name in weights if name.startswith("val_") and name.endswith("_q")])
    x = embedded(g, weights)
    for number in range(LAYERS):
        layer = f"inner.encoder.layer.{number}."
        heads = [
            times(g, x, weights, next(dense), weights[f"{layer}attention.self.{name}.bias"])
            for name in ("query", "key", "value")
        ]
        mixed = g.op("MultiHeadAttention", *heads, "", "lengths", domain=EXTRAS, num_heads=HEADS)
        x = normed(g, times(g, mixed, weights, next(dense)), x, weights, layer + "attention.output.")
        bias = g.constant(weights[layer + "intermediate.dense.bias"])
        wide = g.op("BiasGelu", times(g, x, weights, next(dense)), bias, domain=EXTRAS)
        x = normed(g, times(g, wide, weights, next(dense)), x, weights, layer + "output.")
    g.op("Identity", x, result="hidden")
    return g.model(
        [port("input_ids", np.int64, "texts", "tokens"), port("positions", np.int64, "tokens"), port("lengths", np.int32, "texts")],
        [port("hidden", np.float32, "texts", "tokens", HIDDEN)],
    )


def embedded(g, weights):
    """What goes into the first layer. The table of words stays int8: it is most of all weights."""
    e = "inner.embeddings."
    words = g.op("Gather", g.constant(weights[e + "word_embeddings.weight_q"]), "input_ids")
    scales = g.op("Gather", g.constant(weights[e + "word_embeddings.weight_scale"]), "input_ids")
    words = g.op("Mul", g.op("Cast", words, to=1), scales)
    positions = weights[e + "position_embeddings.weight_q"] * weights[e + "position_embeddings.weight_scale"]
    positions += weights[e + "token_type_embeddings.weight"][0]  # all of one kind
    x = g.op("Add", words, g.op("Gather", g.constant(positions), "positions"))
    gamma, beta = g.constant(weights[e + "LayerNorm.weight"]), g.constant(weights[e + "LayerNorm.bias"])
    return g.op("LayerNormalization", x, gamma, beta, axis=2, epsilon=EPSILON)


def times(g, x, weights, name, bias=None):
    """x by weights of int8 [in, out] that have a scale for each number out."""
    rows, scales = weights[name + "_q"].T, weights[name + "_scale"].reshape(-1)
    out, into = rows.shape
    blocks = into // BLOCK
    # MatMulNBits wants them from 0 to 255, of which it takes 128 away.
    rows = (rows.astype(np.int16) + 128).astype(np.uint8).reshape(out, blocks, BLOCK)
    more = [] if bias is None else ["", "", g.constant(bias)]
    return g.op(
        "MatMulNBits", x, g.constant(rows), g.constant(np.repeat(scales, blocks)), *more,
        domain=EXTRAS, K=into, N=out, bits=8, block_size=BLOCK, accuracy_level=INT8,
    )


def normed(g, x, skip, weights, name):
    """x with its bias and what went round it, normalised."""
    gamma, beta = g.constant(weights[name + "LayerNorm.weight"]), g.constant(weights[name + "LayerNorm.bias"])
    bias = g.constant(weights[name + "dense.bias"])
    return g.op("SkipLayerNormalization", x, skip, gamma, beta, bias, domain=EXTRAS, epsilon=EPSILON)
