"""Documents and search.

Generated from _async by tools/generate.py. Do not edit.
"""

from collections.abc import Iterator, Sequence
from time import sleep
from typing import Unpack

from .._request import COMMAND_HEADERS, JSON, Id, Request, document_filter, encode, fields, idempotency, part, query
from .._response import AnswerPart, Page, parse_answer_part
from .._sse import Parser
from ..errors import LivegraphError, TransportError
from ..filters import AnswerOptions, DocumentListOptions, HybridOptions, SearchOptions
from ..types import (
    Answer,
    DeleteDocumentAnswerData,
    Document,
    HybridHit,
    IndexStatus,
    NewDocument,
    PutDocumentResult,
    PutDocumentsAnswerData,
    SearchHit,
)
from .transport import Transport

DOCUMENTS = "/api/documents"


class Documents:
    """Texts that become nodes of the graph."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def put(self, documents: Sequence[NewDocument]) -> Sequence[PutDocumentResult]:
        """Creates or changes 1 to 1,000 documents with at most 24 MiB, and returns the result of each.

        A document is identified by its ``externalId``. The same content again changes nothing. Search finds the
        documents about a second later.
        """
        body = encode({"documents": list(documents)})
        request = Request[PutDocumentsAnswerData]("POST", DOCUMENTS, body=body, headers=COMMAND_HEADERS)
        return (self._transport.data(request))["documents"]

    def get(self, id: Id) -> Document:
        """Returns a document with its passages, by the id of its node or its external id."""
        return self._transport.data(Request[Document]("GET", f"{DOCUMENTS}/{part(id)}"))

    def list(
        self, *, limit: int = 100, offset: int | None = None, **filter: Unpack[DocumentListOptions]
    ) -> Page[Document]:
        """Returns a page of at most 100 documents, by default the oldest first, without their texts."""
        selected = query(limit=limit, offset=offset) + document_filter(filter)
        return self._transport.page(Request[Document]("GET", DOCUMENTS, query=selected))

    def iterate(self, **filter: Unpack[DocumentListOptions]) -> Iterator[Document]:
        """Iterates over the documents, by default the oldest first, page by page, without their texts.

        Unless the order is that of creation, a document that changes meanwhile may be missing or occur twice.
        """
        selected = query(limit=100) + document_filter(filter)
        return self._transport.pages(Request[Document]("GET", DOCUMENTS, query=selected))

    def delete(self, id: Id, *, idempotency_key: str | None = None) -> DeleteDocumentAnswerData:
        """Deletes a document with its passages. ``commands.undo`` with the ``commandId`` restores them.

        Args:
            id: The id of the document's node, or the external id.
            idempotency_key: Without it, a new one.
        """
        headers = {"Prefer": COMMAND_HEADERS["Prefer"]} | idempotency(idempotency_key)
        return self._transport.data(
            Request[DeleteDocumentAnswerData]("DELETE", f"{DOCUMENTS}/{part(id)}", headers=headers)
        )


class Search:
    """Search for nodes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def nodes(
        self, query: str, *, limit: int = 10, offset: int | None = None, **options: Unpack[SearchOptions]
    ) -> Page[SearchHit]:
        """Returns the nodes that match a text by words and by meaning, best first.

        ``meta["degraded"]`` lists what is missing while a part of the search is unavailable.
        """
        body = encode(fields(query=query, limit=limit, offset=offset, **options))
        return self._transport.page(Request[SearchHit]("POST", "/api/rag/search", body=body, headers=JSON))

    def hybrid(
        self, query: str, *, limit: int = 10, offset: int | None = None, **options: Unpack[HybridOptions]
    ) -> Page[HybridHit]:
        """Returns the nodes that match a text by words, by meaning and by the edges that lead to them, best first.

        ``path`` of a result contains the edges from the node where the traversal began.
        """
        body = encode(fields(query=query, limit=limit, offset=offset, **options))
        return self._transport.page(Request[HybridHit]("POST", "/api/rag/hybrid-search", body=body, headers=JSON))

    def answer(
        self, query: str, *, max_sentences: int = 3, limit: int = 10, **options: Unpack[AnswerOptions]
    ) -> Answer:
        """Returns the sentences of nodes and documents that answer a question, with their sources.

        The descriptions of the first ``limit`` results of a hybrid search are read. ``answer`` is None if no sentence
        answers the question. ``[1]`` in it is ``citations[0]``. The positions ``start`` and ``end`` of a sentence are
        bytes of the node's description in UTF-8.

        With ``mode="generate"`` a chat model writes the answer, and ``generated`` reports which of its sentences the
        sources contain. If the model is unavailable, ``generated`` is absent and the answer is quoted.
        """
        body = encode(fields(query=query, max_sentences=max_sentences, limit=limit, **options))
        return self._transport.data(Request[Answer]("POST", "/api/rag/answer", body=body, headers=JSON))

    def stream_answer(
        self, query: str, *, max_sentences: int = 3, limit: int = 10, **options: Unpack[AnswerOptions]
    ) -> Iterator[AnswerPart]:
        """Iterates over the parts of an answer while a chat model writes it. The last part has the whole answer.

        The texts of the parts are not checked. ``answer`` of the last part replaces them. The request is sent again
        after transient errors before the first part.
        """
        body = encode(fields(query=query, max_sentences=max_sentences, limit=limit, **options))
        headers = {**JSON, "Accept": "text/event-stream"}
        request = Request[Answer]("POST", "/api/rag/answer", body=body, headers=headers)
        attempts = self._transport.attempts()
        begun = False
        while True:
            try:
                with self._transport.open(request) as response:
                    parser = Parser()
                    for chunk in response.iter_bytes():
                        for event in parser.feed(chunk):
                            begun = True
                            part = parse_answer_part(event)
                            yield part
                            if part.answer is not None:
                                return
                raise TransportError("the server ended the stream before the answer")
            except LivegraphError as error:
                wait = None if begun else attempts.next_wait(error, repeatable=True)
                if wait is None:
                    raise
            sleep(wait)

    def index_status(self) -> IndexStatus:
        """Returns the status of the index of the workspace's nodes."""
        return self._transport.data(Request[IndexStatus]("GET", "/api/rag/index/status"))
