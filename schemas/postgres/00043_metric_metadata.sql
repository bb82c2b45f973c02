-- What Prometheus sends of metrics beside their samples.

-- +goose Up

CREATE TABLE metric_metadata (
    workspace_id uuid NOT NULL,
    metric       text COLLATE "C" NOT NULL,
    kind         text NOT NULL, -- counter, gauge, ..., as Prometheus names it
    help         text NOT NULL,
    unit         text NOT NULL,
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, metric)
);

-- +goose Down
DROP TABLE metric_metadata;
