"""ONNX files, as far as the embedder reads and writes them.

They are protobuf. The package onnx would read any, and needs protobuf and more: five
times the bytes of the model. What is read here is one file, known by its hash."""

import struct

import numpy as np

IR_VERSION, OPSET = 10, 17
EXTRAS = "com.microsoft"  # the operations that onnxruntime has beside ONNX's
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_}
NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}

# The numbers of fields in ONNX's messages.
MODEL_IR, MODEL_GRAPH, MODEL_OPSET = 1, 7, 8
GRAPH_NODE, GRAPH_NAME, GRAPH_TENSOR, GRAPH_INPUT, GRAPH_OUTPUT = 1, 2, 5, 11, 12
TENSOR_DIM, TENSOR_DTYPE, TENSOR_NAME, TENSOR_RAW = 1, 2, 8, 9
NODE_INPUT, NODE_OUTPUT, NODE_KIND, NODE_ATTRIBUTE, NODE_DOMAIN = 1, 2, 4, 5, 7


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a message: their numbers and values, of 4 bytes and longer as bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = (4, at) if tag & 7 == 5 else varint(data, at)
            value, at = data[at : at + size], at + size
        yield tag >> 3, value


def tensors(path):
    """The weights in a model's file, by name, in the file's order."""
    with open(path, "rb") as file:
        model = memoryview(file.read())
    graph = next(value for number, value in fields(model) if number == MODEL_GRAPH)
    return dict(tensor(value) for number, value in fields(graph) if number == GRAPH_TENSOR)


def tensor(message):
    dims, dtype, name, raw = [], 0, "", b""
    for number, value in fields(message):
        if number == TENSOR_DIM:
            dims.append(value)
        elif number == TENSOR_DTYPE:
            dtype = value
        elif number == TENSOR_NAME:
            name = bytes(value).decode()
        elif number == TENSOR_RAW:
            raw = value
    return name, np.frombuffer(raw, DTYPES[dtype]).reshape(dims)


def encoded(value):
    """A whole number as a varint."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return encoded(number << 3) + encoded(value)
    if isinstance(value, float):
        return encoded(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        value = value.encode()
    return encoded(number << 3 | 2) + encoded(len(value)) + value


def attribute(name, value):
    """A number that says more of an operation."""
    place, kind = (2, 1) if isinstance(value, float) else (3, 2)
    return field(1, name) + field(place, value) + field(20, kind)


def port(name, dtype, *dims):
    """An input or output of a graph; dims are lengths, or names of such that vary."""
    shape = b"".join(field(1, field(1 if isinstance(dim, int) else 2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, NUMBERS[np.dtype(dtype)]) + field(2, shape)))


class Graph:
    """A graph that is being written. What its methods give is the name of a value."""

    def __init__(self):
        self.parts, self.names = [], 0

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def constant(self, array):
        name, array = self.name(), np.ascontiguousarray(array)
        dims = b"".join(field(TENSOR_DIM, dim) for dim in array.shape)
        about = field(TENSOR_DTYPE, NUMBERS[array.dtype]) + field(TENSOR_NAME, name)
        self.parts.append(field(GRAPH_TENSOR, dims + about + field(TENSOR_RAW, array.tobytes())))
        return name

    def op(self, kind, *inputs, domain="", result=None, **attributes):
        result = result or self.name()
        node = b"".join(field(NODE_INPUT, name) for name in inputs) + field(NODE_OUTPUT, result)
        node += field(NODE_KIND, kind) + field(NODE_DOMAIN, domain)
        node += b"".join(field(NODE_ATTRIBUTE, attribute(name, value)) for name, value in attributes.items())
        self.parts.append(field(GRAPH_NODE, node))
        return result

    def model(self, inputs, outputs):
        """The whole file."""
        ports = [field(GRAPH_INPUT, one) for one in inputs] + [field(GRAPH_OUTPUT, one) for one in outputs]
        graph = b"".join([*self.parts, field(GRAPH_NAME, "embedder"), *ports])
        opsets = [field(MODEL_OPSET, field(2, OPSET)), field(MODEL_OPSET, field(1, EXTRAS) + field(2, 1))]
        return b"".join([field(MODEL_IR, IR_VERSION), *opsets, field(MODEL_GRAPH, graph)])
