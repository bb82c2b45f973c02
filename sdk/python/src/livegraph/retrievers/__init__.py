"""Retrievers for frameworks that give a language model the passages that answer a question.

``livegraph.retrievers.langchain`` requires ``livegraph[langchain]``, ``livegraph.retrievers.llama_index`` requires
``livegraph[llama-index]``.
"""
