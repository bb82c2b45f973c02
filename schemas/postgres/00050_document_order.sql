-- Documents are listed by their creation, their last change or their timestamp, and counted, by an index each. The indexes
-- have only the documents' own nodes: another node with a copied mark has the id of a document that is not its own. The
-- index of timestamps is also that of the filter. Properties are free-form: a text that is no time in UTC is as none.

-- +goose Up
DROP INDEX nodes_document_list, nodes_document_timestamp;
CREATE INDEX nodes_document_list ON nodes (workspace_id, created_at, id)
    WHERE properties -> 'document' ->> 'externalId' IS NOT NULL AND properties -> 'document' -> 'passage' IS NULL
        AND NOT deleted AND properties -> 'document' ->> 'id' = id::text;
CREATE INDEX nodes_document_changes ON nodes (workspace_id, updated_at DESC, id)
    WHERE properties -> 'document' ->> 'externalId' IS NOT NULL AND properties -> 'document' -> 'passage' IS NULL
        AND NOT deleted AND properties -> 'document' ->> 'id' = id::text;
CREATE INDEX nodes_document_timestamp ON nodes (workspace_id, (CASE
        WHEN properties -> 'document' ->> 'timestamp' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$'
        THEN rtrim(properties -> 'document' ->> 'timestamp', 'Z') COLLATE "C" END) DESC NULLS LAST, id)
    WHERE properties -> 'document' ->> 'externalId' IS NOT NULL AND properties -> 'document' -> 'passage' IS NULL
        AND NOT deleted AND properties -> 'document' ->> 'id' = id::text;

-- +goose Down
DROP INDEX nodes_document_list, nodes_document_changes, nodes_document_timestamp;
CREATE INDEX nodes_document_list ON nodes (workspace_id, created_at, id)
    WHERE properties -> 'document' ->> 'externalId' IS NOT NULL AND properties -> 'document' -> 'passage' IS NULL
        AND NOT deleted;
CREATE INDEX nodes_document_timestamp ON nodes
    (workspace_id, (rtrim(left(properties -> 'document' ->> 'timestamp', 30), 'Z') COLLATE "C"))
    WHERE properties -> 'document' ->> 'externalId' IS NOT NULL AND properties -> 'document' -> 'passage' IS NULL
        AND properties -> 'document' ->> 'timestamp' IS NOT NULL AND NOT deleted;
