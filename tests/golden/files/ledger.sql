BEGIN TRANSACTION;
CREATE TABLE interpret_dp_ledger (
	schema_version INTEGER NOT NULL, 
	PRIMARY KEY (schema_version)
);
INSERT INTO "interpret_dp_ledger" VALUES(2);
CREATE TABLE interpret_dp_ledger_entries (
	number INTEGER NOT NULL, 
	time VARCHAR(40) NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	dataset VARCHAR(200) NOT NULL, 
	reservation INTEGER, 
	explainer TEXT NOT NULL, 
	purpose TEXT NOT NULL, 
	mu DOUBLE NOT NULL, 
	delta DOUBLE NOT NULL, 
	epsilon DOUBLE, 
	epsilon_delta DOUBLE, 
	event TEXT NOT NULL, 
	package_version VARCHAR(40) NOT NULL, 
	context TEXT NOT NULL, 
	previous VARCHAR(64) NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "interpret_dp_ledger_entries" VALUES(1,'2026-11-25T12:24:06.972142+00:00','budget','cohort',NULL,'','',0.715364013372029,1.0e-06,3.0,1.0e-05,'','0.1.0','{"host":"vm","user":"root"}','0000000000000000000000000000000000000000000000000000000000000000','14e3c350711d3f36cefcff812139626d3129cebfe0efc6ca0bdf98d94696e6c1');
INSERT INTO "interpret_dp_ledger_entries" VALUES(2,'2026-11-25T12:24:06.981372+00:00','reserve','cohort',NULL,'DPExplainableBoostingClassifier','',1.24106149018116854176e-01,0.0,0.5,1.0e-06,'{"event":{"events":[{"kind":"gaussian","noise_multiplier":60.05794220487204},{"count":4,"event":{"kind":"gaussian","noise_multiplier":72.06953064584646},"kind":"self_composed"},{"count":4,"event":{"kind":"gaussian","noise_multiplier":72.06953064584646},"kind":"self_composed"},{"count":8,"event":{"kind":"gaussian","noise_multiplier":24.391840521413346},"kind":"self_composed"},{"kind":"gaussian","noise_multiplier":84.93475639434955}],"kind":"composed"},"format":"interpret_dp.event","version":1}','0.1.0','{"host":"vm","protected":"add_or_remove_one: one row","user":"root"}','14e3c350711d3f36cefcff812139626d3129cebfe0efc6ca0bdf98d94696e6c1','cb5ffac305dda5b67b65a2d14246faf9815b174bfa6cc753cb57f50510247f94');
INSERT INTO "interpret_dp_ledger_entries" VALUES(3,'2026-11-25T12:24:07.258604+00:00','commit','cohort',2,'DPExplainableBoostingClassifier','',1.24106149018116854176e-01,0.0,NULL,NULL,'','0.1.0','{"host":"vm","user":"root"}','cb5ffac305dda5b67b65a2d14246faf9815b174bfa6cc753cb57f50510247f94','5b5edb6b4fa1c6cae6e0a2231d970dca6e731982f9450734600006194b5310eb');
INSERT INTO "interpret_dp_ledger_entries" VALUES(4,'2026-11-25T12:24:07.265604+00:00','reserve','cohort',NULL,'DPExplainableBoostingClassifier','',1.24106149018116854176e-01,0.0,0.5,1.0e-06,'{"event":{"events":[{"kind":"gaussian","noise_multiplier":60.05794220487204},{"count":4,"event":{"kind":"gaussian","noise_multiplier":72.06953064584646},"kind":"self_composed"},{"count":4,"event":{"kind":"gaussian","noise_multiplier":72.06953064584646},"kind":"self_composed"},{"count":8,"event":{"kind":"gaussian","noise_multiplier":24.391840521413346},"kind":"self_composed"},{"kind":"gaussian","noise_multiplier":84.93475639434955}],"kind":"composed"},"format":"interpret_dp.event","version":1}','0.1.0','{"host":"vm","protected":"add_or_remove_one: one row","user":"root"}','5b5edb6b4fa1c6cae6e0a2231d970dca6e731982f9450734600006194b5310eb','e5fbf0e72227f9da33979012ae246cc0036209972f0c0b57a859f022c562c763');
INSERT INTO "interpret_dp_ledger_entries" VALUES(5,'2026-11-25T12:24:07.279516+00:00','commit','cohort',4,'DPExplainableBoostingClassifier','',1.24106149018116854176e-01,0.0,NULL,NULL,'','0.1.0','{"host":"vm","user":"root"}','e5fbf0e72227f9da33979012ae246cc0036209972f0c0b57a859f022c562c763','12731fbd0ce3b6edb15ada037e0673606976dacb72acd157c3d42727d4ffffb4');
INSERT INTO "interpret_dp_ledger_entries" VALUES(6,'2026-11-25T12:24:07.284131+00:00','raise','cohort',NULL,'','board, 3 May',9.54059809701816363691e-01,1.0e-06,4.0,2.0e-05,'','0.1.0','{"host":"vm","user":"root"}','12731fbd0ce3b6edb15ada037e0673606976dacb72acd157c3d42727d4ffffb4','8a26c7238fc8d3a17531166b84977e3a3e915b1c593658f9090f87520bb55fd0');
CREATE INDEX ix_interpret_dp_ledger_entries_dataset ON interpret_dp_ledger_entries (dataset);
CREATE UNIQUE INDEX interpret_dp_ledger_closed_once ON interpret_dp_ledger_entries (reservation) WHERE kind IN ('commit', 'cancel');
CREATE TRIGGER interpret_dp_ledger_no_update BEFORE UPDATE ON interpret_dp_ledger  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_no_delete BEFORE DELETE ON interpret_dp_ledger  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_no_insert BEFORE INSERT ON interpret_dp_ledger WHEN NEW.schema_version <> (SELECT coalesce(max(schema_version), 0) + 1 FROM interpret_dp_ledger) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_entries_no_update BEFORE UPDATE ON interpret_dp_ledger_entries  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_entries_no_delete BEFORE DELETE ON interpret_dp_ledger_entries  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_entries_no_insert BEFORE INSERT ON interpret_dp_ledger_entries WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM interpret_dp_ledger_entries) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
COMMIT;
