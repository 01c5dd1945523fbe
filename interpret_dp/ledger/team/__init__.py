"""Acts of several people on one ledger: budgets, roles, approvals and an officer's overview."""
