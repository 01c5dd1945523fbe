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
INSERT INTO "interpret_dp_ledger_entries" VALUES(1,'2026-11-25T17:49:03.096724+00:00','budget','cohort',NULL,'','',4.65722483973613332608e+00,0.0,30.0,1.0e-05,'','0.1.0','{"host":"vm","user":"root"}','0000000000000000000000000000000000000000000000000000000000000000','3511d5ed811651f6e8919300f6ff71cccd55aad1a9780cd7542f9187e6f5c736');
INSERT INTO "interpret_dp_ledger_entries" VALUES(2,'2026-11-25T17:49:03.130628+00:00','reserve','cohort',NULL,'DPExplainableBoostingClassifier','',2.14914118570870948943e+00,0.0,12.0,1.0e-06,'{"event":{"events":[{"kind":"gaussian","noise_multiplier":3.4681574084400526},{"count":4,"event":{"kind":"gaussian","noise_multiplier":4.161788890128063},"kind":"self_composed"},{"count":4,"event":{"kind":"gaussian","noise_multiplier":4.161788890128063},"kind":"self_composed"},{"count":8,"event":{"kind":"gaussian","noise_multiplier":1.4085521298957433},"kind":"self_composed"},{"kind":"gaussian","noise_multiplier":4.904715243460648}],"kind":"composed"},"format":"interpret_dp.event","version":1}','0.1.0','{"host":"vm","protected":"add_or_remove_one: one row","user":"root"}','3511d5ed811651f6e8919300f6ff71cccd55aad1a9780cd7542f9187e6f5c736','f46e87e9296f906e74a39a0b7ad3240eb77f9f907f8b7f7aaa951a4fa6604011');
INSERT INTO "interpret_dp_ledger_entries" VALUES(3,'2026-11-25T17:49:06.596735+00:00','commit','cohort',2,'DPExplainableBoostingClassifier','',2.14914118570870948943e+00,0.0,NULL,NULL,'','0.1.0','{"host":"vm","user":"root"}','f46e87e9296f906e74a39a0b7ad3240eb77f9f907f8b7f7aaa951a4fa6604011','d8f03dfde7115172da7dffbd66e74e76afeeafae19b1308929b6b2aeffa7d46f');
INSERT INTO "interpret_dp_ledger_entries" VALUES(4,'2026-11-25T17:49:08.561417+00:00','reserve','cohort',NULL,'DPRandomizedSearch(DPExplainableBoostingClassifier)','',2.14656073261531066265e+00,0.0,12.0,1.0e-06,'{"event":{"kind":"private_selection","noise_multiplier":0.6515956997302194,"shape":0.5,"stopping":0.24999999999999994},"format":"interpret_dp.event","version":1}','0.1.0','{"host":"vm","protected":"add_or_remove_one: one row","user":"root"}','d8f03dfde7115172da7dffbd66e74e76afeeafae19b1308929b6b2aeffa7d46f','7a021faea2698d5e33f1bf5585481d10b45edfe8a56280b1e4397ecab9870a13');
INSERT INTO "interpret_dp_ledger_entries" VALUES(5,'2026-11-25T17:49:08.691323+00:00','commit','cohort',4,'DPRandomizedSearch(DPExplainableBoostingClassifier)','',2.14656073261531066265e+00,0.0,NULL,NULL,'','0.1.0','{"host":"vm","user":"root"}','7a021faea2698d5e33f1bf5585481d10b45edfe8a56280b1e4397ecab9870a13','a1f26efd6e8f735ca8b2c43c1b7956450bec41d016a49f419dcb8db8a7457d31');
CREATE INDEX ix_interpret_dp_ledger_entries_dataset ON interpret_dp_ledger_entries (dataset);
CREATE UNIQUE INDEX interpret_dp_ledger_closed_once ON interpret_dp_ledger_entries (reservation) WHERE kind IN ('commit', 'cancel');
CREATE TRIGGER interpret_dp_ledger_no_update BEFORE UPDATE ON interpret_dp_ledger  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_no_delete BEFORE DELETE ON interpret_dp_ledger  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_no_insert BEFORE INSERT ON interpret_dp_ledger WHEN NEW.schema_version <> (SELECT coalesce(max(schema_version), 0) + 1 FROM interpret_dp_ledger) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_entries_no_update BEFORE UPDATE ON interpret_dp_ledger_entries  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_entries_no_delete BEFORE DELETE ON interpret_dp_ledger_entries  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_entries_no_insert BEFORE INSERT ON interpret_dp_ledger_entries WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM interpret_dp_ledger_entries) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
COMMIT;
