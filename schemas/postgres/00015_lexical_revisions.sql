-- +goose Up

-- What of the text lane changed since it was looked at last: a process keeps in memory
-- what the terms of searches find, and reads what changed. One writes to a workspace at
-- a time, so its revisions come in the order in which they are seen. A trigger, so that
-- they also come from processes of a version that does not know of them.
CREATE SEQUENCE lexical_revisions;
ALTER TABLE lexical_nodes ADD COLUMN revision bigint NOT NULL DEFAULT 0;
CREATE INDEX lexical_changes ON lexical_nodes (workspace_id, revision);

-- +goose StatementBegin
CREATE FUNCTION lexical_revise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := nextval('lexical_revisions');
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER lexical_revised BEFORE INSERT OR UPDATE ON lexical_nodes FOR EACH ROW EXECUTE FUNCTION lexical_revise();

COMMENT ON COLUMN lexical_nodes.digest IS 'of the text and of how it was analysed; empty: the node does not stand any more';

-- +goose Down
DELETE FROM lexical_nodes WHERE digest = '';
DROP TRIGGER lexical_revised ON lexical_nodes;
DROP FUNCTION lexical_revise;
DROP INDEX lexical_changes;
ALTER TABLE lexical_nodes DROP COLUMN revision;
DROP SEQUENCE lexical_revisions;
