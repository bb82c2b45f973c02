-- +goose Up

-- The champion list of a term that very many nodes of a workspace have: which of its
-- postings are the heaviest. Impacts are reckoned with the average length of a text as it
-- was when the list was filled (storage/postgres/lexicalchampions.go has the formula). In
-- the list is every posting with a higher impact than the floor, and of those with as
-- high a one every node up to floor_node.
CREATE TABLE lexical_champion_lists (
    workspace_id uuid    NOT NULL,
    term         text COLLATE "C" NOT NULL,
    average      integer NOT NULL DEFAULT 0,
    floor        bigint,                     -- null: the list is not filled, or not up to date any more
    floor_node   uuid,
    size         bigint  NOT NULL DEFAULT 0, -- postings in it
    kept         bigint  NOT NULL DEFAULT 0, -- how many it was to have when it was filled or cut back
    due          boolean NOT NULL DEFAULT true, -- it is to be filled, or cut back
    PRIMARY KEY (workspace_id, term)
) WITH (fillfactor = 80);
CREATE INDEX lexical_champion_lists_due ON lexical_champion_lists (workspace_id, term) WHERE due;

-- The postings in the lists.
CREATE TABLE lexical_champions (
    workspace_id uuid     NOT NULL,
    term         text COLLATE "C" NOT NULL,
    node_id      uuid     NOT NULL,
    count        smallint NOT NULL,
    length       integer  NOT NULL,
    PRIMARY KEY (workspace_id, term, node_id) INCLUDE (count, length)
);

-- The terms that are so frequent already. Their lists are filled by the consumer.
INSERT INTO lexical_champion_lists (workspace_id, term) SELECT workspace_id, term FROM lexical_terms WHERE nodes > 20000;

-- A process of a version that knows of no lists writes postings beside them: the lists of
-- the workspace are out of date then. Who keeps them says so in its transaction.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION lexical_revise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := nextval('lexical_revisions');
    IF current_setting('livegraph.champions', true) IS DISTINCT FROM 'kept' THEN
        UPDATE lexical_champion_lists SET floor = NULL, due = true WHERE workspace_id = NEW.workspace_id AND floor IS NOT NULL;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION lexical_revise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := nextval('lexical_revisions');
    RETURN NEW;
END $$;
-- +goose StatementEnd
DROP TABLE lexical_champions, lexical_champion_lists;
