-- The nodes of documents are found by their external id and listed. Properties are free-form, so the
-- index has a hash: a value of any size must be storable.

-- +goose Up
CREATE INDEX nodes_documents ON nodes (workspace_id, md5(properties -> 'document' ->> 'externalId'))
    WHERE properties -> 'document' ->> 'externalId' IS NOT NULL AND NOT deleted;
CREATE INDEX nodes_document_list ON nodes (workspace_id, created_at, id)
    WHERE properties -> 'document' ->> 'externalId' IS NOT NULL AND properties -> 'document' -> 'passage' IS NULL
        AND NOT deleted;

-- +goose Down
DROP INDEX nodes_document_list, nodes_documents;
