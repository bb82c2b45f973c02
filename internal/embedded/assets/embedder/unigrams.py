"""The tokens of XLM-RoBERTa, whose vocabulary is shared by a hundred languages: the most
probable parts of words (SentencePiece's unigrams)."""

import unicodedata

from tokenizers import Regex, Tokenizer
from tokenizers.models import Unigram
from tokenizers.normalizers import Replace
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing

FIRST, LAST, UNKNOWN = ("<s>", 0), ("</s>", 2), 3
MOST_CHARACTERS = 1 << 14  # of a text, more than are read of usual ones


class Unigrams:
    def __init__(self, pieces, replaced, most):
        self.replaced = replaced
        self.tokeniser = Tokenizer(Unigram(pieces, UNKNOWN, False))
        self.tokeniser.normalizer = Replace(Regex(" {2,}"), " ")
        self.tokeniser.pre_tokenizer = Metaspace()
        self.tokeniser.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[FIRST, LAST])
        self.tokeniser.enable_truncation(most)

    def ids(self, texts):
        # The letters are composed first, because each is replaced for itself. One may be replaced by 18.
        texts = [unicodedata.normalize("NFC", text).translate(self.replaced)[:MOST_CHARACTERS] for text in texts]
        return [encoding.ids for encoding in self.tokeniser.encode_batch(texts)]
