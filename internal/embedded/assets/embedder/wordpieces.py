"""The tokens of BERT's English models: parts of words in lower case."""

from tokenizers.implementations import BertWordPieceTokenizer


class WordPieces:
    def __init__(self, vocabulary, most):
        self.tokeniser = BertWordPieceTokenizer(vocabulary, lowercase=True)
        self.tokeniser.enable_truncation(most)

    def ids(self, texts):
        return [encoding.ids for encoding in self.tokeniser.encode_batch(texts)]
