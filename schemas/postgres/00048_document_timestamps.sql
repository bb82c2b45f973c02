-- Searches select documents by their timestamp. Marks have times in UTC, whose order is that of the texts without the Z.
-- Properties are free-form, so the index has only the characters that a time can have.

-- +goose Up
CREATE INDEX nodes_document_timestamp ON nodes
    (workspace_id, (rtrim(left(properties -> 'document' ->> 'timestamp', 30), 'Z') COLLATE "C"))
    WHERE properties -> 'document' ->> 'externalId' IS NOT NULL AND properties -> 'document' -> 'passage' IS NULL
        AND properties -> 'document' ->> 'timestamp' IS NOT NULL AND NOT deleted;

-- +goose Down
DROP INDEX nodes_document_timestamp;
