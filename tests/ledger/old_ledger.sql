BEGIN TRANSACTION;
CREATE TABLE interpret_dp_ledger (
	schema_version INTEGER NOT NULL, 
	PRIMARY KEY (schema_version)
);
INSERT INTO "interpret_dp_ledger" VALUES(1);
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
INSERT INTO "interpret_dp_ledger_entries" VALUES(1,'2026-11-21T16:08:27.102498+00:00','budget','ward',NULL,'','board',4.46260603279194534298e-01,1.0e-07,2.0,1.0e-06,'','0.1.0','{"protected":"add_or_remove_one: one ''patient_id''"}','0000000000000000000000000000000000000000000000000000000000000000','f540b37ab55e91459fc8495cc73e13368e1207a55d2e41dfdb2bbc237414d60b');
INSERT INTO "interpret_dp_ledger_entries" VALUES(2,'2026-11-21T16:08:27.108969+00:00','reserve','ward',NULL,'DPExplainableBoostingClassifier','',1.00000000000000019428e-01,0.0,0.4,1.0e-06,'{"event":{"kind":"gaussian","noise_multiplier":9.999999999999998},"format":"interpret_dp.event","version":1}','0.1.0','{"protected":"add_or_remove_one: one ''patient_id''"}','f540b37ab55e91459fc8495cc73e13368e1207a55d2e41dfdb2bbc237414d60b','88d9c052dd0c077c91929f1bd9a7e1d32dd74b26aadb3a24bd95abb237a7ca42');
INSERT INTO "interpret_dp_ledger_entries" VALUES(3,'2026-11-21T16:08:27.114478+00:00','commit','ward',2,'DPExplainableBoostingClassifier','',1.00000000000000019428e-01,0.0,NULL,NULL,'','0.1.0','{}','88d9c052dd0c077c91929f1bd9a7e1d32dd74b26aadb3a24bd95abb237a7ca42','6112a9dad587a207e04db52a6966c3dc4edd4285a3a0ce9a4461c73e484447e6');
INSERT INTO "interpret_dp_ledger_entries" VALUES(4,'2026-11-21T16:08:27.119459+00:00','reserve','ward',NULL,'DPExplainableBoostingClassifier','a try',2.00000000000000038857e-01,0.0,0.4,1.0e-06,'{"event":{"kind":"gaussian","noise_multiplier":4.999999999999999},"format":"interpret_dp.event","version":1}','0.1.0','{"protected":"add_or_remove_one: one ''patient_id''"}','6112a9dad587a207e04db52a6966c3dc4edd4285a3a0ce9a4461c73e484447e6','07bc1ba5c3f933ff2fac81e91f411265e27c6371a5dcd661c67599067c3f67f3');
INSERT INTO "interpret_dp_ledger_entries" VALUES(5,'2026-11-21T16:08:27.124415+00:00','cancel','ward',4,'DPExplainableBoostingClassifier','',0.0,0.0,NULL,NULL,'','0.1.0','{}','07bc1ba5c3f933ff2fac81e91f411265e27c6371a5dcd661c67599067c3f67f3','1b3bc0487d25004f0989e496999adb68d15b5be3fe6d6fc9e554fe2ecf0c8625');
INSERT INTO "interpret_dp_ledger_entries" VALUES(6,'2026-11-21T16:08:27.129072+00:00','reserve','ward',NULL,'DPExplainableBoostingClassifier','',2.00000000000000038857e-01,0.0,0.4,1.0e-06,'{"event":{"kind":"gaussian","noise_multiplier":4.999999999999999},"format":"interpret_dp.event","version":1}','0.1.0','{"protected":"add_or_remove_one: one ''patient_id''"}','1b3bc0487d25004f0989e496999adb68d15b5be3fe6d6fc9e554fe2ecf0c8625','233cd689931ecda2801072ef2a141d4468b0adc8b0e18360297ab2d336ccc520');
INSERT INTO "interpret_dp_ledger_entries" VALUES(7,'2026-11-21T16:08:27.133684+00:00','commit','ward',6,'DPExplainableBoostingClassifier','',0.15,0.0,NULL,NULL,'','0.1.0','{}','233cd689931ecda2801072ef2a141d4468b0adc8b0e18360297ab2d336ccc520','68ff388e6de7ab81aa08b19828655e460e7943e6fd55f510071cea807517e412');
INSERT INTO "interpret_dp_ledger_entries" VALUES(8,'2026-11-21T16:08:27.138658+00:00','raise','ward',NULL,'','more',0.644917156457311,1.0e-07,3.0,1.0e-06,'','0.1.0','{}','68ff388e6de7ab81aa08b19828655e460e7943e6fd55f510071cea807517e412','76867fa6fdbb256f970a2974fcb25df174b41597d6b782ff77b712d64890c5bf');
INSERT INTO "interpret_dp_ledger_entries" VALUES(9,'2026-11-21T16:08:27.143040+00:00','reserve','ward',NULL,'DPExplainableBoostingClassifier','',5.00000000000000097144e-02,0.0,0.4,1.0e-06,'{"event":{"kind":"gaussian","noise_multiplier":19.999999999999996},"format":"interpret_dp.event","version":1}','0.1.0','{"protected":"add_or_remove_one: one ''patient_id''"}','76867fa6fdbb256f970a2974fcb25df174b41597d6b782ff77b712d64890c5bf','ceb428f8ffd3285192771f855a6effe0ce541331a142cf1ea979d847ba6e146f');
INSERT INTO "interpret_dp_ledger_entries" VALUES(10,'2026-11-21T16:08:27.147640+00:00','budget','clinic',NULL,'','',2.36704380663197655465e-01,0.0,1.0,1.0e-06,'','0.1.0','{}','ceb428f8ffd3285192771f855a6effe0ce541331a142cf1ea979d847ba6e146f','65d1b2f3ce5349652683c852bd4482afd5d0863bc04a47e41fde12055183ba24');
CREATE INDEX ix_interpret_dp_ledger_entries_dataset ON interpret_dp_ledger_entries (dataset);
CREATE TRIGGER interpret_dp_ledger_no_update BEFORE UPDATE ON interpret_dp_ledger  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_no_delete BEFORE DELETE ON interpret_dp_ledger  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_no_insert BEFORE INSERT ON interpret_dp_ledger  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_entries_no_update BEFORE UPDATE ON interpret_dp_ledger_entries  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_entries_no_delete BEFORE DELETE ON interpret_dp_ledger_entries  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER interpret_dp_ledger_entries_no_insert BEFORE INSERT ON interpret_dp_ledger_entries WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM interpret_dp_ledger_entries) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
COMMIT;
