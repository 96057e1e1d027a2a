/* SPDX-License-Identifier: Apache-2.0 OR MIT */
\echo Use "CREATE EXTENSION fgio" to load this file. \quit

CREATE FUNCTION fgio_class() RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION fgio_class() IS
'class of the calling process now: foreground, background, or NULL';

CREATE FUNCTION fgio_request() RETURNS text
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION fgio_request() IS
'the user''s request that the calling process serves now, or NULL';

CREATE FUNCTION fgio_request_new(deadline_ms integer DEFAULT 0, parts integer DEFAULT 0)
RETURNS text
AS 'MODULE_PATHNAME', 'fgio_request_make' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION fgio_request_new(integer, integer) IS
'an id for a user''s request that arrives now, for fgio.request on each server that serves it';

CREATE FUNCTION fgio_request_seen(request text) RETURNS void
AS 'MODULE_PATHNAME', 'fgio_request_note' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION fgio_request_seen(text) IS
'ids that the calling process makes from now on are later than this one';

CREATE FUNCTION pg_stat_fgio(
	OUT pid integer,
	OUT class text,
	OUT labelled boolean,
	OUT foreground_statements bigint,
	OUT foreground_time double precision,
	OUT background_statements bigint,
	OUT background_time double precision
) RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE VIEW pg_stat_fgio AS SELECT * FROM pg_stat_fgio();
COMMENT ON VIEW pg_stat_fgio IS
'sessions, their classes and counts; the row without a pid sums up those that have ended';

CREATE FUNCTION pg_stat_fgio_reset() RETURNS void
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
REVOKE ALL ON FUNCTION pg_stat_fgio_reset() FROM PUBLIC;

CREATE FUNCTION fgio_module(
	OUT available boolean,
	OUT version text,
	OUT devices integer,
	OUT foreground_waiting integer,
	OUT boosted integer,
	OUT boosts bigint,
	OUT boosted_time double precision,
	OUT promoted_requests bigint,
	OUT promoted_sleepers bigint,
	OUT promoted_writers bigint,
	OUT waits_lost bigint,
	OUT stopped_because text
) RETURNS record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE VIEW pg_stat_fgio_module AS SELECT * FROM fgio_module();
COMMENT ON VIEW pg_stat_fgio_module IS
'counters of the kernel module on this machine, for all programs together';
GRANT SELECT ON pg_stat_fgio, pg_stat_fgio_module TO PUBLIC;
