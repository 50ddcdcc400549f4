-- The store's tables. Large tables are views over the artifacts' Parquet files (see store.py).
-- A margin set without a complete descriptor cannot be a row of margin_sets.

create table artifacts (
    artifact_id varchar primary key,
    kind varchar not null check (kind in ('measurement', 'summary')),
    title varchar not null check (length(title) > 0),
    path varchar not null unique,
    lock_state varchar not null check (lock_state in ('locked', 'unlocked')),
    model varchar not null,
    benchmark varchar not null,
    started varchar not null,
    source varchar not null,
    run json not null,
    about json not null,
    evaluation json check (evaluation is null or json_valid(evaluation))
);

create table margin_sets (
    set_id varchar primary key,
    artifact_id varchar not null references artifacts (artifact_id),
    position integer not null,
    rule varchar not null,
    method varchar not null,
    slice varchar not null,
    k varchar not null,
    corpus_hash varchar not null check (length(corpus_hash) > 0),
    query_set_id varchar not null check (length(query_set_id) > 0),
    reference_rule varchar not null check (length(reference_rule) > 0),
    space_id varchar not null check (length(space_id) > 0),
    metric varchar not null,
    descriptor json not null check (json_valid(descriptor)),
    n_not_recorded integer not null,
    n_attempted bigint,
    n_scored bigint not null,
    n_excluded bigint,
    n_failed bigint,
    n_clusters bigint,
    mean_margin double,
    mean_low double,
    mean_high double,
    median_margin double,
    p05 double,
    p10 double,
    win_rate double,
    n_lt_zero bigint,
    n_eq_zero bigint,
    n_gt_zero bigint,
    expected_mean double,
    expected_win_rate double,
    expected_sd double,
    check (n_attempted is null or n_attempted = n_scored + n_excluded + n_failed),
    unique (artifact_id, rule)
);

create table quarantine (
    path varchar primary key,
    artifact_id varchar,
    exit_code integer not null,
    reasons varchar[] not null check (len(reasons) > 0)
);
