"""Figures of explanations, for notebooks, the dashboard, the editors and pages of HTML.

A figure is drawn with plotly, which is imported when one is drawn.
"""
