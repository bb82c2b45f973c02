-- +goose Up

-- What each raise of the auth revision changed, so that API processes drop what they
-- remember of that key or workspace, and nothing else. The newest 10,000 are kept: who
-- missed more drops everything.
CREATE TABLE auth_changes (
    revision     bigint PRIMARY KEY,
    key_id       uuid,
    workspace_id uuid
);

-- Whoever changes keys or workspaces holds the one row of auth_revision until the end of
-- the transaction: who sees a revision sees all changes up to it.
-- +goose StatementBegin
CREATE FUNCTION note_auth_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed record;
    raised  bigint;
BEGIN
    IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
    UPDATE auth_revision SET revision = revision + 1 RETURNING revision INTO raised;
    IF raised IS NULL THEN RETURN NULL; END IF; -- a restore fills the tables: nobody remembers anything yet
    CASE TG_TABLE_NAME
        WHEN 'api_keys' THEN INSERT INTO auth_changes (revision, key_id) VALUES (raised, changed.id);
        WHEN 'api_key_workspaces' THEN INSERT INTO auth_changes (revision, key_id) VALUES (raised, changed.key_id);
        ELSE INSERT INTO auth_changes (revision, workspace_id) VALUES (raised, changed.id);
    END CASE;
    DELETE FROM auth_changes WHERE revision <= raised - 10000;
    RETURN NULL;
END $$;
-- +goose StatementEnd

DROP TRIGGER api_keys_revision ON api_keys;
DROP TRIGGER api_key_workspaces_revision ON api_key_workspaces;
DROP TRIGGER workspaces_revision ON workspaces;
CREATE TRIGGER api_keys_revision
    AFTER INSERT OR DELETE OR UPDATE OF hash, mode, scopes, actor_id, expires_at, revoked_at ON api_keys
    FOR EACH ROW EXECUTE FUNCTION note_auth_change();
CREATE TRIGGER api_key_workspaces_revision
    AFTER INSERT OR DELETE OR UPDATE ON api_key_workspaces
    FOR EACH ROW EXECUTE FUNCTION note_auth_change();
CREATE TRIGGER workspaces_revision
    AFTER INSERT OR DELETE OR UPDATE OF name, plan, mode, per_minute, per_day, deleted_at ON workspaces
    FOR EACH ROW EXECUTE FUNCTION note_auth_change();

-- +goose Down
DROP TRIGGER api_keys_revision ON api_keys;
DROP TRIGGER api_key_workspaces_revision ON api_key_workspaces;
DROP TRIGGER workspaces_revision ON workspaces;
CREATE TRIGGER api_keys_revision
    AFTER INSERT OR DELETE OR UPDATE OF hash, mode, scopes, actor_id, expires_at, revoked_at ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION raise_auth_revision();
CREATE TRIGGER api_key_workspaces_revision
    AFTER INSERT OR DELETE OR UPDATE ON api_key_workspaces
    FOR EACH STATEMENT EXECUTE FUNCTION raise_auth_revision();
CREATE TRIGGER workspaces_revision
    AFTER INSERT OR DELETE OR UPDATE OF name, plan, mode, per_minute, per_day, deleted_at ON workspaces
    FOR EACH STATEMENT EXECUTE FUNCTION raise_auth_revision();
DROP FUNCTION note_auth_change;
DROP TABLE auth_changes;
