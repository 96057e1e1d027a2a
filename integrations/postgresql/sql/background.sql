-- Sessions that are background by their program, statements by their kind.
SET application_name = 'pg_dump';
SELECT fgio_class();
SET application_name = 'pg_dump_of_ours';
SELECT fgio_class();
SET fgio.background_applications = 'nightly, pg_dump_of_ours ';
SELECT fgio_class();
SET application_name = 'nightly';
SELECT fgio_class();
-- The session's own setting overrides it.
SET fgio.class = 'foreground';
SELECT fgio_class();
RESET fgio.class;
SET fgio.background_applications = '';
SELECT fgio_class();
SET application_name = '';
SELECT fgio_class();
RESET fgio.background_applications;
SELECT fgio_class();

-- A table that is read for a copy of it; one that an application loads.
COPY (SELECT fgio_class()) TO STDOUT;
CREATE FUNCTION regress_fgio_classes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.class := public.fgio_class();
  RETURN NEW;
END $$;
CREATE TABLE regress_fgio_loaded (class text);
CREATE TRIGGER tell BEFORE INSERT ON regress_fgio_loaded
  FOR EACH ROW EXECUTE FUNCTION regress_fgio_classes();
COPY regress_fgio_loaded FROM STDIN;
-
\.
SET fgio.background_commands = 'COPY FROM';
COPY (SELECT fgio_class()) TO STDOUT;
COPY regress_fgio_loaded FROM STDIN;
-
\.
SET fgio.background_commands = 'copy';
COPY (SELECT fgio_class()) TO STDOUT;
COPY regress_fgio_loaded FROM STDIN;
-
\.
RESET fgio.background_commands;
SELECT * FROM regress_fgio_loaded;

-- A table that is written anew, and the statements after it.
CREATE FUNCTION regress_fgio_told(value text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN public.fgio_class();
END $$;
BEGIN;
ALTER TABLE regress_fgio_loaded ALTER class TYPE text USING regress_fgio_told(class);
SELECT fgio_class();
COMMIT;
SELECT DISTINCT class FROM regress_fgio_loaded;
DROP TABLE regress_fgio_loaded;
DROP FUNCTION regress_fgio_classes, regress_fgio_told;
