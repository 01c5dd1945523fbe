"""The algorithms of Patel, Shokri and Zick (2022), for comparison with explanations that cost once.

"Model Explanations with Differential Privacy", FAccT 2022. Algorithm 1 is in :mod:`.interactive`,
Algorithms 2 and 3 are in :mod:`.adaptive` and Algorithm 4 is in :mod:`.history`;
:class:`~interpret_dp.lime.paper.explainer.PaperLimeTabular` runs all of them out of one budget.
"""
