"""The log and what follows from it: entries, accounts, the filter, and the databases."""
