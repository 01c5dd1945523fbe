"""The tables and figures of the three papers, ours beside theirs: ``python -m benchmarks.papers``.

One module a paper. Each result is a JSON file in ``benchmarks/results/papers`` with its command,
date, seeds and the code that was measured; ``docs/papers.md`` is made of them.
"""
