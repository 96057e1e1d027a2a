-- The settings, and the roles that may change them.
SELECT name, setting, context FROM pg_settings WHERE name LIKE 'fgio.%' ORDER BY name;
SET fgio.class = 'urgent';
SET fgio.scope = 'always';
SET fgio.background_commands = 'VACUUM, MAKE COFFEE';
SET fgio.nonsense = 1;
SET fgio.background_commands = '';
SET fgio.background_commands = ' vacuum ,Create Index, ';
SHOW fgio.background_commands;
RESET fgio.background_commands;

CREATE ROLE regress_fgio;
SET ROLE regress_fgio;
SET fgio.class = 'background';
SET fgio.scope = 'session';
RESET fgio.class;
RESET ROLE;

-- By role and by database.
ALTER ROLE regress_fgio SET fgio.class = 'background';
ALTER ROLE regress_fgio SET fgio.scope = 'never';
SELECT unnest(setconfig) FROM pg_db_role_setting
  WHERE setrole = 'regress_fgio'::regrole ORDER BY 1;
DROP ROLE regress_fgio;
