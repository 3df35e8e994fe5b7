-- SPDX-License-Identifier: Apache-2.0
-- What is computed is stored once in a fleet, however many jobs refer to it. Rows are counted as they come
-- and go, and everything that a tenant makes counts in its bytes: 512 for a row, 128 for a window's (which
-- the intake books), and the sizes of specs, definitions and objects.

CREATE TABLE specs (
    id      INTEGER PRIMARY KEY,
    fleet   INTEGER NOT NULL REFERENCES fleets,
    digest  TEXT NOT NULL,                    -- database.text_digest of text
    summary TEXT NOT NULL,                    -- JSON: text without what can be long: devices, weights, model
    text    TEXT NOT NULL,                    -- JSON: definitions.JobSpec
    UNIQUE (fleet, digest)
) STRICT;

-- Whose windows jobs leave out, for they were in quarantine when the job was made.
CREATE TABLE exclusions (
    id      INTEGER PRIMARY KEY,
    fleet   INTEGER NOT NULL REFERENCES fleets,
    digest  TEXT NOT NULL,
    devices TEXT NOT NULL,                    -- JSON: ids of devices
    UNIQUE (fleet, digest)
) STRICT;

INSERT INTO specs (fleet, digest, summary, text)
SELECT fleet, digest(text), json_remove(text, '$.devices', '$.weights', '$.model'), text FROM (
    SELECT fleet, spec AS text FROM jobs
    UNION SELECT fleet, json_extract(spec, '$.job') FROM streams WHERE json_extract(spec, '$.job') IS NOT NULL
);

ALTER TABLE jobs ADD COLUMN stored INTEGER REFERENCES specs;
UPDATE jobs SET stored = (SELECT id FROM specs s WHERE s.fleet = jobs.fleet AND s.digest = digest(jobs.spec));
ALTER TABLE jobs DROP COLUMN spec;
ALTER TABLE jobs RENAME COLUMN stored TO spec;
ALTER TABLE jobs ADD COLUMN excluded INTEGER REFERENCES exclusions;    -- null: nobody's windows
CREATE INDEX jobs_listed ON jobs (fleet, id);
CREATE INDEX jobs_waiting ON jobs (fleet, state, id);
CREATE INDEX jobs_spec ON jobs (spec);
CREATE INDEX jobs_excluded ON jobs (excluded);

ALTER TABLE streams ADD COLUMN job INTEGER REFERENCES specs;
UPDATE streams SET
    job = (SELECT id FROM specs s WHERE s.fleet = streams.fleet AND s.digest = digest(spec -> '$.job')),
    spec = json_remove(spec, '$.job')         -- JSON: definitions.StreamSpec without the job
WHERE spec -> '$.job' IS NOT NULL;
CREATE INDEX streams_job ON streams (job);
ALTER TABLE streams ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;        -- jobs were last made of it

-- The ciphertexts of a job's result, which jobs.result had listed.
CREATE TABLE job_parts (
    job    INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    part   INTEGER NOT NULL,
    digest TEXT NOT NULL,                     -- of the file objects/DIGEST
    PRIMARY KEY (job, part)
) STRICT, WITHOUT ROWID;
INSERT INTO job_parts SELECT jobs.id, e.key, e.value FROM jobs JOIN json_each(jobs.result, '$.parts') AS e
    WHERE jobs.result IS NOT NULL AND jobs.result ->> '$.deleted' IS NULL;
UPDATE jobs SET result = json_set(result, '$.parts', json_array_length(result, '$.parts'))
    WHERE result IS NOT NULL;

-- Files in objects/ that are stored for a tenant.
CREATE TABLE objects (
    tenant INTEGER NOT NULL REFERENCES tenants,
    digest TEXT NOT NULL,
    bytes  INTEGER NOT NULL,
    PRIMARY KEY (tenant, digest)
) STRICT, WITHOUT ROWID;
INSERT INTO objects SELECT tenant, digest, object_bytes(digest) FROM (
    SELECT f.tenant, k.digest FROM evaluation_keys k JOIN fleets f ON f.id = k.fleet
    UNION SELECT f.tenant, d.rekey FROM devices d JOIN fleets f ON f.id = d.fleet WHERE d.rekey IS NOT NULL
    UNION SELECT f.tenant, r.digest FROM results r JOIN devices d ON d.id = r.device
        JOIN fleets f ON f.id = d.fleet WHERE r.digest != ''
    UNION SELECT f.tenant, p.digest FROM job_parts p JOIN jobs j ON j.id = p.job
        JOIN fleets f ON f.id = j.fleet
    UNION SELECT f.tenant, j.result ->> '$.contributors' FROM jobs j JOIN fleets f ON f.id = j.fleet
        WHERE j.result IS NOT NULL AND j.result ->> '$.deleted' IS NULL
) WHERE digest IS NOT NULL;

-- Quarantined: whatever its state, this device's windows do not count in jobs that are made from now on.
ALTER TABLE devices ADD COLUMN excluded INTEGER NOT NULL DEFAULT 0 CHECK (excluded IN (0, 1));
UPDATE devices SET excluded = 1 WHERE (fleet, number) IN
    (SELECT fleet, number FROM devices WHERE state = 'quarantined');
CREATE INDEX devices_excluded ON devices (fleet) WHERE excluded = 1;
ALTER TABLE devices ADD COLUMN windows INTEGER NOT NULL DEFAULT 0;     -- that count
UPDATE devices SET windows = (SELECT count(*) FROM windows w WHERE w.device = devices.id);

ALTER TABLE tenants ADD COLUMN most_fleets INTEGER NOT NULL DEFAULT 100;
ALTER TABLE tenants ADD COLUMN most_streams INTEGER NOT NULL DEFAULT 1000;
ALTER TABLE tenants ADD COLUMN most_jobs INTEGER NOT NULL DEFAULT 100000;
ALTER TABLE tenants ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;        -- a worker last took a job of it
CREATE INDEX tenants_turn ON tenants (turn);
CREATE INDEX tokens_tenant ON tokens (tenant, id);
CREATE INDEX tokens_held ON tokens (tenant) WHERE revoked IS NULL;

-- --- what there is of each fleet, kept by the triggers below ----------------------------------------------

CREATE TABLE fleet_counts (
    fleet      INTEGER PRIMARY KEY REFERENCES fleets ON DELETE CASCADE,
    devices    INTEGER NOT NULL DEFAULT 0,    -- not replaced
    heard      INTEGER NOT NULL DEFAULT 0,    -- of those, that have sent anything
    stopped    INTEGER NOT NULL DEFAULT 0,    -- of those, in quarantine
    windows    INTEGER NOT NULL DEFAULT 0,    -- that count (the intake counts them)
    last_seen  REAL,                          -- (likewise)
    waiting    INTEGER NOT NULL DEFAULT 0,    -- for the operator
    streams    INTEGER NOT NULL DEFAULT 0,
    queued     INTEGER NOT NULL DEFAULT 0,    -- jobs, by state
    running    INTEGER NOT NULL DEFAULT 0,
    done       INTEGER NOT NULL DEFAULT 0,
    failed     INTEGER NOT NULL DEFAULT 0,
    cancelled  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX fleets_queued ON fleet_counts (fleet) WHERE queued > 0;
INSERT INTO fleet_counts
SELECT f.id,
    count(d.id),
    count(d.last_seen),
    coalesce(sum(d.state = 'quarantined'), 0),
    (SELECT coalesce(sum(windows), 0) FROM devices WHERE fleet = f.id),
    (SELECT max(last_seen) FROM devices WHERE fleet = f.id),
    (SELECT count(*) FROM quarantine q JOIN devices e ON e.id = q.device WHERE e.fleet = f.id),
    (SELECT count(*) FROM streams WHERE fleet = f.id),
    (SELECT count(*) FROM jobs WHERE fleet = f.id AND state = 'queued'),
    (SELECT count(*) FROM jobs WHERE fleet = f.id AND state = 'running'),
    (SELECT count(*) FROM jobs WHERE fleet = f.id AND state = 'done'),
    (SELECT count(*) FROM jobs WHERE fleet = f.id AND state = 'failed'),
    (SELECT count(*) FROM jobs WHERE fleet = f.id AND state = 'cancelled')
FROM fleets f LEFT JOIN devices d ON d.fleet = f.id AND d.state != 'replaced' GROUP BY f.id;

-- How many jobs have ever ended.
CREATE TABLE jobs_ended (state TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO jobs_ended SELECT value, (SELECT count(*) FROM jobs WHERE state = value)
    FROM json_each('["done", "failed", "cancelled"]');

CREATE TRIGGER fleet_made AFTER INSERT ON fleets BEGIN
    INSERT INTO fleet_counts (fleet) VALUES (NEW.id);
    UPDATE tenants SET bytes = bytes + 512 + length(NEW.definition) WHERE id = NEW.tenant;
END;
CREATE TRIGGER fleet_redefined AFTER UPDATE OF definition ON fleets BEGIN
    UPDATE tenants SET bytes = bytes + length(NEW.definition) - length(OLD.definition) WHERE id = NEW.tenant;
END;
CREATE TRIGGER fleet_deleted AFTER DELETE ON fleets BEGIN
    UPDATE tenants SET bytes = bytes - 512 - length(OLD.definition) WHERE id = OLD.tenant;
END;

CREATE TRIGGER device_made AFTER INSERT ON devices BEGIN
    UPDATE fleet_counts SET
        devices = devices + (NEW.state != 'replaced'),
        heard = heard + (NEW.state != 'replaced' AND NEW.last_seen IS NOT NULL),
        stopped = stopped + (NEW.state = 'quarantined')
    WHERE fleet = NEW.fleet;
    UPDATE tenants SET bytes = bytes + 512 WHERE id = (SELECT tenant FROM fleets WHERE id = NEW.fleet);
END;
CREATE TRIGGER device_changed AFTER UPDATE OF state, last_seen ON devices
WHEN OLD.state != NEW.state OR (OLD.last_seen IS NULL) != (NEW.last_seen IS NULL) BEGIN
    UPDATE fleet_counts SET
        devices = devices + (NEW.state != 'replaced') - (OLD.state != 'replaced'),
        heard = heard + (NEW.state != 'replaced' AND NEW.last_seen IS NOT NULL)
            - (OLD.state != 'replaced' AND OLD.last_seen IS NOT NULL),
        stopped = stopped + (NEW.state = 'quarantined') - (OLD.state = 'quarantined')
    WHERE fleet = NEW.fleet;
END;
CREATE TRIGGER device_deleted AFTER DELETE ON devices BEGIN
    UPDATE fleet_counts SET
        devices = devices - (OLD.state != 'replaced'),
        heard = heard - (OLD.state != 'replaced' AND OLD.last_seen IS NOT NULL),
        stopped = stopped - (OLD.state = 'quarantined')
    WHERE fleet = OLD.fleet;
    UPDATE tenants SET bytes = bytes - 512 WHERE id = (SELECT tenant FROM fleets WHERE id = OLD.fleet);
END;

CREATE TRIGGER window_deleted AFTER DELETE ON windows BEGIN
    UPDATE fleet_counts SET windows = windows - 1
        WHERE fleet = (SELECT fleet FROM devices WHERE id = OLD.device);
    UPDATE devices SET windows = windows - 1 WHERE id = OLD.device;
    UPDATE tenants SET bytes = bytes - 128 WHERE id =
        (SELECT f.tenant FROM devices d JOIN fleets f ON f.id = d.fleet WHERE d.id = OLD.device);
END;

CREATE TRIGGER quarantine_made AFTER INSERT ON quarantine BEGIN
    UPDATE fleet_counts SET waiting = waiting + 1
        WHERE fleet = (SELECT fleet FROM devices WHERE id = NEW.device);
END;
CREATE TRIGGER quarantine_deleted AFTER DELETE ON quarantine BEGIN
    UPDATE fleet_counts SET waiting = waiting - 1
        WHERE fleet = (SELECT fleet FROM devices WHERE id = OLD.device);
END;

CREATE TRIGGER stream_made AFTER INSERT ON streams BEGIN
    UPDATE fleet_counts SET streams = streams + 1 WHERE fleet = NEW.fleet;
    UPDATE tenants SET bytes = bytes + 512 WHERE id = (SELECT tenant FROM fleets WHERE id = NEW.fleet);
END;
CREATE TRIGGER stream_deleted AFTER DELETE ON streams BEGIN
    UPDATE fleet_counts SET streams = streams - 1 WHERE fleet = OLD.fleet;
    UPDATE tenants SET bytes = bytes - 512 WHERE id = (SELECT tenant FROM fleets WHERE id = OLD.fleet);
END;

CREATE TRIGGER job_made AFTER INSERT ON jobs BEGIN
    UPDATE fleet_counts SET
        queued = queued + (NEW.state = 'queued'),
        running = running + (NEW.state = 'running'),
        done = done + (NEW.state = 'done'),
        failed = failed + (NEW.state = 'failed'),
        cancelled = cancelled + (NEW.state = 'cancelled')
    WHERE fleet = NEW.fleet;
    UPDATE tenants SET bytes = bytes + 512 WHERE id = (SELECT tenant FROM fleets WHERE id = NEW.fleet);
END;
CREATE TRIGGER job_changed AFTER UPDATE OF state ON jobs WHEN OLD.state != NEW.state BEGIN
    UPDATE fleet_counts SET
        queued = queued + (NEW.state = 'queued') - (OLD.state = 'queued'),
        running = running + (NEW.state = 'running') - (OLD.state = 'running'),
        done = done + (NEW.state = 'done') - (OLD.state = 'done'),
        failed = failed + (NEW.state = 'failed') - (OLD.state = 'failed'),
        cancelled = cancelled + (NEW.state = 'cancelled') - (OLD.state = 'cancelled')
    WHERE fleet = NEW.fleet;
    UPDATE jobs_ended SET number = number + 1 WHERE state = NEW.state;
END;
CREATE TRIGGER job_deleted AFTER DELETE ON jobs BEGIN
    UPDATE fleet_counts SET
        queued = queued - (OLD.state = 'queued'),
        running = running - (OLD.state = 'running'),
        done = done - (OLD.state = 'done'),
        failed = failed - (OLD.state = 'failed'),
        cancelled = cancelled - (OLD.state = 'cancelled')
    WHERE fleet = OLD.fleet;
    UPDATE tenants SET bytes = bytes - 512 WHERE id = (SELECT tenant FROM fleets WHERE id = OLD.fleet);
END;

CREATE TRIGGER spec_made AFTER INSERT ON specs BEGIN
    UPDATE tenants SET bytes = bytes + 512 + length(NEW.text)
        WHERE id = (SELECT tenant FROM fleets WHERE id = NEW.fleet);
END;
CREATE TRIGGER spec_deleted AFTER DELETE ON specs BEGIN
    UPDATE tenants SET bytes = bytes - 512 - length(OLD.text)
        WHERE id = (SELECT tenant FROM fleets WHERE id = OLD.fleet);
END;
CREATE TRIGGER exclusion_made AFTER INSERT ON exclusions BEGIN
    UPDATE tenants SET bytes = bytes + 512 + length(NEW.devices)
        WHERE id = (SELECT tenant FROM fleets WHERE id = NEW.fleet);
END;
CREATE TRIGGER exclusion_deleted AFTER DELETE ON exclusions BEGIN
    UPDATE tenants SET bytes = bytes - 512 - length(OLD.devices)
        WHERE id = (SELECT tenant FROM fleets WHERE id = OLD.fleet);
END;

CREATE TRIGGER token_made AFTER INSERT ON tokens WHEN NEW.tenant IS NOT NULL BEGIN
    UPDATE tenants SET bytes = bytes + 512 WHERE id = NEW.tenant;
END;
CREATE TRIGGER token_deleted AFTER DELETE ON tokens WHEN OLD.tenant IS NOT NULL BEGIN
    UPDATE tenants SET bytes = bytes - 512 WHERE id = OLD.tenant;
END;

CREATE TRIGGER result_made AFTER INSERT ON results BEGIN
    UPDATE tenants SET bytes = bytes + 512 WHERE id =
        (SELECT f.tenant FROM devices d JOIN fleets f ON f.id = d.fleet WHERE d.id = NEW.device);
END;
CREATE TRIGGER result_deleted AFTER DELETE ON results BEGIN
    UPDATE tenants SET bytes = bytes - 512 WHERE id =
        (SELECT f.tenant FROM devices d JOIN fleets f ON f.id = d.fleet WHERE d.id = OLD.device);
END;

-- With the part of a result that refers to it.
CREATE TRIGGER object_made AFTER INSERT ON objects BEGIN
    UPDATE tenants SET bytes = bytes + 512 + NEW.bytes WHERE id = NEW.tenant;
END;
CREATE TRIGGER object_deleted AFTER DELETE ON objects BEGIN
    UPDATE tenants SET bytes = bytes - 512 - OLD.bytes WHERE id = OLD.tenant;
END;

UPDATE tenants SET bytes = bytes
    + (SELECT coalesce(sum(512 + o.bytes), 0) FROM objects o WHERE o.tenant = tenants.id)
    + 512 * (SELECT count(*) FROM tokens WHERE tenant = tenants.id)
    + (SELECT coalesce(sum(512 + length(f.definition)
        + 128 * (SELECT windows FROM fleet_counts WHERE fleet = f.id)
        + 512 * (SELECT count(*) FROM devices WHERE fleet = f.id)
        + 512 * (SELECT count(*) FROM streams WHERE fleet = f.id)
        + 512 * (SELECT count(*) FROM jobs WHERE fleet = f.id)
        + 512 * (SELECT count(*) FROM results r JOIN devices d ON d.id = r.device WHERE d.fleet = f.id)
        + (SELECT coalesce(sum(512 + length(text)), 0) FROM specs WHERE fleet = f.id)
    ), 0) FROM fleets f WHERE f.tenant = tenants.id);
